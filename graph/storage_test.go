package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/shape"
)

// TestStorage: in precision bf16 activations take 16 bits; parameters, their gradients, scalars,
// and hooked or reshaped 32-bit values take 32.
func TestStorage(t *testing.T) {
	store := graph.NewPlan(tensor.Float32)
	b := graph.On(gorgonia.NewGraph(), graph.Options{Device: graph.CUDA, Precision: graph.BF16, Store: store, Hooks: graph.Hooks{"broad": nil, "narrow": nil}})
	x := b.Input("x", tensor.Float32, 4, 6)
	w := b.Param(graph.ParamSpec{Name: "w", Shape: []int{6, 2}})
	y := linear.Map(b, x, w, linear.Options{})
	loss := loss.CrossEntropy(b, y, b.Param(graph.ParamSpec{Name: "u", Shape: []int{2, 5}}), b.Input("targets", tensor.Int32, 4), loss.Options{})
	for name, c := range map[string]struct {
		node *gorgonia.Node
		want cuda.Type
	}{
		"activation": {y, cuda.BF16}, "hook on it": {b.Hook("narrow", y), cuda.BF16}, "parameter": {w, cuda.F32},
		"hook on a parameter": {b.Hook("broad", w), cuda.F32}, "reshaped parameter": {shape.Reshape(b, w, 2, 1), cuda.F32}, "loss": {loss, cuda.F32},
	} {
		require.NoError(t, b.Err())
		require.Equal(t, c.want, graph.StorageOf(c.node), name)
	}
	grads, err := graph.Differentiate(b, loss)
	require.NoError(t, err)
	for _, grad := range grads {
		require.Equal(t, cuda.F32, graph.StorageOf(grad))
	}
}
