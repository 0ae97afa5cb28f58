package stream_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// tolerance is how far a float64 graph may be from the equations, of values of order 1.
const tolerance = 1e-12

// noise returns n values from N(0, 1) that depend on the seed alone.
func noise(seed uint64, n int) []float64 {
	draw := rand.New(rand.NewPCG(seed, 0))
	values := make([]float64, n)
	for i := range values {
		values[i] = draw.NormFloat64()
	}
	return values
}

// evaluate runs the node that build returns, in float64, with noise in all parameters,
// and returns its value and the Store. It uses the stock tape machine: a Program refuses
// the parameters that one part of a stream leaves unread.
func evaluate(t *testing.T, build func(b *graph.Builder) *gorgonia.Node, floats map[string][]float64, ints map[string][]int32) ([]float64, *graph.Store) {
	t.Helper()
	return evaluateWith(t, graph.Options{}, build, floats, ints)
}

func evaluateWith(t *testing.T, o graph.Options, build func(b *graph.Builder) *gorgonia.Node, floats map[string][]float64, ints map[string][]int32) ([]float64, *graph.Store) {
	t.Helper()
	g := gorgonia.NewGraph()
	o.DType, o.Threads = tensor.Float64, 1
	b := graph.On(g, o)
	output := build(b)
	require.NoError(t, b.Err())
	for i, param := range b.Store().Params() {
		require.NoError(t, graph.SetFloat64s(param.Value, noise(uint64(100+i), param.Size())))
	}
	for name, values := range floats {
		let(t, g, name, values)
	}
	for name, values := range ints {
		let(t, g, name, values)
	}
	vm := gorgonia.NewTapeMachine(g)
	defer func() { require.NoError(t, vm.Close()) }()
	require.NoError(t, vm.RunAll())
	return graph.Float64s(output.Value().(*tensor.Dense)), b.Store()
}

// let gives an input its value, if the graph has it.
func let(t *testing.T, g *gorgonia.ExprGraph, name string, values any) {
	for _, n := range g.ByName(name) {
		require.NoError(t, gorgonia.Let(n, tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(values))))
	}
}

// value returns a parameter's values.
func value(t *testing.T, s *graph.Store, name string) []float64 {
	t.Helper()
	require.NotNil(t, s.Param(name), name)
	return s.Param(name).Value.Float64s()
}

// layerNorm normalises rows as wide as the gain.
func layerNorm(x, gain []float64, eps float64) []float64 {
	n, y := len(gain), make([]float64, len(x))
	for at := 0; at < len(x); at += n {
		mean, variance := 0.0, 0.0
		for _, v := range x[at : at+n] {
			mean += v / float64(n)
		}
		for _, v := range x[at : at+n] {
			variance += (v - mean) * (v - mean) / float64(n)
		}
		for i, v := range x[at : at+n] {
			y[at+i] = (v - mean) / math.Sqrt(variance+eps) * gain[i]
		}
	}
	return y
}

// shapes lists a Store's parameters.
func shapes(s *graph.Store) map[string][]int {
	all := map[string][]int{}
	for _, p := range s.Params() {
		all[p.Name] = p.Shape
	}
	return all
}
