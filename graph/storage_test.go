package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
)

// TestStorage: in precision bf16 activations are of 16 bits; parameters, their gradients,
// scalars, and what a hook or a reshape makes of a 32-bit value are of 32.
func TestStorage(t *testing.T) {
	store := NewPlan(tensor.Float32)
	b := On(gorgonia.NewGraph(), Options{Device: CUDA, Precision: BF16, Store: store, Hooks: Hooks{"wide": nil, "narrow": nil}})
	x := b.Input("x", tensor.Float32, 4, 6)
	w := b.Param(ParamSpec{Name: "w", Shape: []int{6, 2}})
	y := b.Linear(x, w, LinearOptions{})
	loss := b.CrossEntropy(y, b.Param(ParamSpec{Name: "u", Shape: []int{2, 5}}), b.Input("targets", tensor.Int32, 4), LossOptions{})
	for name, c := range map[string]struct {
		node *gorgonia.Node
		want cuda.Type
	}{
		"activation": {y, cuda.BF16}, "hook on it": {b.Hook("narrow", y), cuda.BF16}, "parameter": {w, cuda.F32},
		"hook on a parameter": {b.Hook("wide", w), cuda.F32}, "reshaped parameter": {b.Reshape(w, 2, 1), cuda.F32}, "loss": {loss, cuda.F32},
	} {
		require.NoError(t, b.Err())
		require.Equal(t, c.want, opOf(c.node).storage(), name)
	}
	grads, err := differentiate(b, loss, RecomputeNone)
	require.NoError(t, err)
	for _, grad := range grads {
		require.Equal(t, cuda.F32, opOf(grad).storage())
	}
}
