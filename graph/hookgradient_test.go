package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/optest"
)

// TestHookGradient: for loss = sum of 3 h, h = 2 x, the gradient at each hook is right without
// parameters, and 0 at a hook that the loss does not read; an error names a hook without a
// gradient.
func TestHookGradient(t *testing.T) {
	build := func(b *graph.Builder) (graph.Roots, error) {
		x := b.Input("x", tensor.Float32, 2, 3)
		aside := b.Hook("aside", elementwise.Scale(b, x, 5))
		y := b.Hook("y", elementwise.Scale(b, b.Hook("h", elementwise.Scale(b, x, 2)), 3))
		loss, err := gorgonia.Sum(y)
		require.NoError(t, err)
		return graph.Roots{Loss: loss, Outputs: gorgonia.Nodes{aside}}, b.Err()
	}
	options := graph.Options{Threads: 1, Hooks: graph.Hooks{"h": nil, "y": nil, "aside": nil}}
	p, err := graph.Compile(graph.ProgramOptions{Options: options, HookGradients: true}, build)
	require.NoError(t, err)
	defer p.Close()
	for range 2 {
		require.NoError(t, p.Run(graph.RunOptions{}))
		for name, want := range map[string]float64{"h": 3, "y": 1, "aside": 0} {
			gradient, err := p.HookGradient(name)
			require.NoError(t, err)
			require.Equal(t, []float64{want, want, want, want, want, want}, graph.Float64s(gradient), name)
		}
	}
	_, err = p.HookGradient("other")
	optest.RequireLine(t, err, `hook "other"`)
	_, err = graph.Compile(graph.ProgramOptions{Options: options, HookGradients: true, Gradients: true}, build)
	optest.RequireLine(t, err, "parameters or of hooks, got both")
}
