package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
)

// TestDropoutSetStep: on a stock tape machine each step has its own mask, and the same step always
// has the same mask.
func TestDropoutSetStep(t *testing.T) {
	g := gorgonia.NewGraph()
	b := graph.On(g, graph.Options{Training: true, Seed: 1})
	x := b.Input("x", tensor.Float32, 4, 16)
	y := elementwise.Dropout(b, x, 0.5)
	require.NoError(t, b.Err())
	ones := make([]float32, 64)
	for i := range ones {
		ones[i] = 1
	}
	require.NoError(t, gorgonia.Let(x, tensor.New(tensor.WithShape(4, 16), tensor.WithBacking(ones))))
	vm := gorgonia.NewTapeMachine(g)
	defer func() { require.NoError(t, vm.Close()) }()
	mask := func(step uint64) []float32 {
		b.SetStep(step)
		vm.Reset()
		require.NoError(t, vm.RunAll())
		return append([]float32(nil), y.Value().(*tensor.Dense).Float32s()...)
	}
	first := mask(1)
	require.NotEqual(t, first, mask(2))
	require.Equal(t, first, mask(1))
}
