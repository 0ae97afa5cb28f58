package modeltest

import (
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// NewStore returns the initial parameters of a model.
func NewStore(t testing.TB, spec models.Spec, dt tensor.Dtype, seed uint64) *graph.Store {
	t.Helper()
	store := graph.NewStore(dt, seed)
	_, err := models.New(gorgonia.NewGraph(), spec, graph.Options{DType: dt, Store: store})
	require.NoError(t, err)
	return store
}

// PerturbedStore is NewStore with weights at which every part of the model matters.
func PerturbedStore(t testing.TB, spec models.Spec, dt tensor.Dtype) *graph.Store {
	t.Helper()
	store := NewStore(t, spec, dt, 0)
	Perturb(t, store)
	return store
}

// Perturb replaces all values by noise that depends on a parameter's name alone: of
// deviation 1 for the embedding, 0.4 for all others, gains around 1. The specified
// initial values make some gradients exactly zero (an unembedding of zeros stops all
// others), which would hide mistakes.
func Perturb(t testing.TB, store *graph.Store) {
	t.Helper()
	for _, p := range store.Params() {
		h := fnv.New64a()
		_, _ = h.Write([]byte(p.Name))
		draw := rand.New(rand.NewPCG(h.Sum64(), 2))
		std := 0.4
		if p.Name == "embedding" {
			std = 1
		}
		values := make([]float64, p.Size())
		for i := range values {
			values[i] = p.Init.Offset + std*draw.NormFloat64()
		}
		require.NoError(t, graph.SetFloat64s(p.Value, values))
	}
}

// copyValues copies the values of from's parameters to to's, which may have another float type.
func copyValues(t *testing.T, to, from *graph.Store) {
	t.Helper()
	for _, p := range from.Params() {
		require.NoError(t, graph.SetFloat64s(to.Param(p.Name).Value, graph.Float64s(p.Value)))
	}
}

// Values returns all parameters' values by name.
func Values(store *graph.Store) map[string][]float64 {
	return byName(store, func(p *graph.Param) *tensor.Dense { return p.Value })
}

// Gradients returns all parameters' gradients by name; nil for a parameter without one.
func Gradients(store *graph.Store) map[string][]float64 {
	return byName(store, func(p *graph.Param) *tensor.Dense { return p.Grad })
}

func byName(store *graph.Store, of func(*graph.Param) *tensor.Dense) map[string][]float64 {
	all := map[string][]float64{}
	for _, p := range store.Params() {
		if x := of(p); x != nil {
			all[p.Name] = graph.Float64s(x)
		}
	}
	return all
}
