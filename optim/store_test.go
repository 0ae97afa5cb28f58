package optim_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// specs lists parameters of odd sizes, with and without decay and width ratios.
var specs = []graph.ParamSpec{
	{Name: "embedding", Shape: []int{7, 5}, Init: graph.Normal(1)},
	{Name: "hidden", Shape: []int{5, 9}, Init: graph.Normal(0.5), Decay: true, WidthRatio: 4, Role: graph.RoleHidden},
	{Name: "write", Shape: []int{3, 3}, Init: graph.Normal(0.5), Decay: true, WidthRatio: 1, Role: graph.RoleWriteKeys},
	{Name: "gain", Shape: []int{5}, Init: graph.Ones()},
}

// newStore returns a Store of specs with gradient buffers.
func newStore(t *testing.T, dt tensor.Dtype) *graph.Store {
	t.Helper()
	b := graph.On(gorgonia.NewGraph(), graph.Options{DType: dt, Seed: 5})
	for _, s := range specs {
		b.Param(s)
	}
	require.NoError(t, b.Err())
	for _, p := range b.Store().Params() {
		p.Grad = tensor.New(tensor.Of(dt), tensor.WithShape(p.Shape...))
	}
	return b.Store()
}

// setGradients gives every parameter the gradient of one step: noise that grows with the step.
func setGradients(t *testing.T, s *graph.Store, step int) {
	t.Helper()
	draw := rand.New(rand.NewPCG(uint64(step), 9))
	for _, p := range s.Params() {
		g := make([]float64, p.Size())
		for i := range g {
			g[i] = float64(float32(float64(step+1) * draw.NormFloat64()))
		}
		require.NoError(t, graph.SetFloat64s(p.Grad, g))
	}
}

// values returns all parameters' values, moments included, in order.
func values(s *graph.Store) [][]float64 {
	var all [][]float64
	for _, p := range s.Params() {
		for _, x := range []*tensor.Dense{p.Value, p.Moment1, p.Moment2} {
			if x != nil {
				all = append(all, graph.Float64s(x))
			}
		}
	}
	return all
}
