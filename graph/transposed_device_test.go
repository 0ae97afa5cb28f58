//go:build cuda

package graph_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
)

// transposedProgram computes a loss over an unembedding [features, vocab] that a device stores
// transposed.
func transposedProgram(t *testing.T, o graph.Options, features, vocab int) *graph.Program {
	const tokens = 3
	o.Store = graph.NewStore(tensor.Float32, 1)
	p, err := graph.Compile(graph.ProgramOptions{Options: o, Gradients: true}, func(b *graph.Builder) (graph.Roots, error) {
		x := b.Param(graph.ParamSpec{Name: "x", Shape: []int{tokens, features}, Init: graph.Normal(1)})
		w, transposed := b.TransposedParam(graph.ParamSpec{Name: "w", Shape: []int{features, vocab}, Init: graph.Normal(1)})
		logits := linear.Map(b, x, w, linear.Options{Transposed: transposed})
		cost := loss.CrossEntropy(b, x, w, b.Input("targets", tensor.Int32, tokens), loss.Options{Transposed: transposed})
		return graph.Roots{Loss: cost, Outputs: []*gorgonia.Node{logits}}, nil
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Close()
		require.NoError(t, p.Store().Close())
	})
	copy(p.Ints("targets"), []int32{1, 0, int32(vocab) - 1})
	require.NoError(t, p.Run(graph.RunOptions{}))
	require.NoError(t, p.Store().GradientsToHost())
	return p
}

// TestTransposedParameter: a parameter that lies transposed on the device gives the same logits and
// gradient as on the CPU, its gradient has the Store's shape on the host, and copies in both
// directions leave it unchanged, even in several pieces.
func TestTransposedParameter(t *testing.T) {
	for _, size := range [][2]int{{4, 7}, {300, 1001}} {
		want, got := transposedProgram(t, graph.Options{}, size[0], size[1]), transposedProgram(t, graph.Options{Device: graph.CUDA, Precision: graph.FP32}, size[0], size[1])
		require.Equal(t, tensor.Shape{size[1], size[0]}, got.Builder().Learnables()[1].Shape())
		for _, p := range []*graph.Program{want, got} {
			require.Equal(t, tensor.Shape(size[:]), p.Store().Param("w").Grad.Shape())
		}
		w, g := want.Store().Param("w"), got.Store().Param("w")
		require.InDeltaSlice(t, w.Grad.Data(), g.Grad.Data(), 1e-5)
		logits, err := graph.Value(want.Roots().Outputs[0])
		require.NoError(t, err)
		ours, err := graph.Value(got.Roots().Outputs[0])
		require.NoError(t, err)
		require.InDeltaSlice(t, logits.Data(), ours.Data(), 1e-4)

		values := g.Value.Data().([]float32)
		before := slices.Clone(values)
		clear(values)
		require.NoError(t, got.Store().ToHost())
		require.Equal(t, before, values)
	}
}
