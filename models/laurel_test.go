package models_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestLaurelStartsAsATransformer: with a scale of 2 or no weights, LAuReL equals a transformer to
// the last bit, whatever is added and, with maps, whatever the weights of previous streams are. A
// scale of 1 halves the stream, which makes it another model.
func TestLaurelStartsAsATransformer(t *testing.T) {
	same := startsAs(t)
	for _, d := range []stream.LaurelConfig{{}, {Weights: "sigmoid"}, {Rank: 3}, {Previous: 3}, {Rank: 2, Previous: 3}, {Weights: "none", Rank: 2}, {WeightScale: 1}} {
		c := modeltest.Resolve(t, tinyZoo(d, plainly))
		store := modeltest.NewStore(t, c, tensor.Float64, 0)
		if gamma := store.Param("blocks.1.attention.laurel.gamma"); gamma != nil && d.Rank > 0 {
			require.NoError(t, graph.SetFloat64s(gamma.Value, []float64{3, -2, 5}))
		}
		assert.Equal(t, d.WeightScale != 1, same(c, store), "%+v", d)
	}
}

// startsAs returns a function that tells whether a model with a transformer's weights, and its own
// weights as they start, has the transformer's logits to the last bit. The function also checks
// that the model's design says so.
func startsAs(t *testing.T) func(models.Spec, *graph.Store) bool {
	plain := modeltest.Resolve(t, tinyVector(plainly))
	weights := modeltest.PerturbedStore(t, plain, tensor.Float64)
	logits := func(spec models.Spec, store *graph.Store) []float64 {
		return modeltest.Compile(t, spec, store, modeltest.Setup{}).On(t, modeltest.RandomBatch(spec, 2, spec.Seq, 1), graph.RunOptions{}).Logits
	}
	want := logits(plain, weights)
	return func(spec models.Spec, store *graph.Store) bool {
		for _, p := range weights.Params() {
			require.NoError(t, graph.SetFloat64s(store.Param(p.Name).Value, graph.Float64s(p.Value)))
		}
		got := logits(spec, store)
		same := modeltest.Distance(got, want) == 0
		assert.True(t, same || modeltest.Distance(got, want) > 1e-3)
		_, says := spec.Design().(stream.PlainAtInit).Plain()
		assert.Equal(t, says, same, "%+v", spec.Stream)
		return same
	}
}

// TestLaurelStarts: the weights start at 0. The left map starts with a diagonal of 1/sqrt(r D)
// every r rows, side by side if there are several maps, and the right map at 0. The factors of
// previous streams start at 0 if streams are summed, and at 1 if maps of them are.
func TestLaurelStarts(t *testing.T) {
	store := modeltest.NewStore(t, modeltest.Resolve(t, tinyZoo(stream.LaurelConfig{Rank: 2, Previous: 2}, plainly)), tensor.Float64, 0)
	value := func(name string) []float64 {
		return graph.Float64s(store.Param("blocks.0.feedforward.laurel." + name).Value)
	}
	assert.Equal(t, []float64{0, 0}, value("weights"))
	assert.Equal(t, []float64{1, 1}, value("gamma"))
	size := 1 / math.Sqrt(2*15)
	assert.Equal(t, []float64{size, 0, size, 0, 0, size, 0, size, size, 0, size, 0}, value("left")[:12])
	assert.Equal(t, zeros(4*15), value("right"))
	assert.Len(t, graph.Float64s(store.Param("blocks.0.attention.laurel.gamma").Value), 1, "before the first site there is one stream")
	store = modeltest.NewStore(t, modeltest.Resolve(t, tinyZoo(stream.LaurelConfig{Previous: 2}, plainly)), tensor.Float64, 0)
	assert.Equal(t, []float64{0, 0}, value("gamma"))
	for _, name := range []string{"weights", "gamma"} {
		assert.False(t, store.Param("blocks.0.feedforward.laurel."+name).Decay, name)
	}
}
