package graph_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/embedding"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/optest"
)

// hookProgram computes y = 3 hook(2 x).
func hookProgram(t *testing.T, hooks graph.Hooks) (p *graph.Program, y *gorgonia.Node) {
	t.Helper()
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1, Hooks: hooks}}, func(b *graph.Builder) (graph.Roots, error) {
		x := b.Input("x", tensor.Float32, 2, 3)
		require.Equal(t, hooks != nil, b.Hooked("h"))
		y = elementwise.Scale(b, b.Hook("h", elementwise.Scale(b, x, 2)), 3)
		return graph.Roots{Outputs: gorgonia.Nodes{y}}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	copy(p.Input("x").Float32s(), []float32{1, 2, 3, 4, 5, 6})
	return p, y
}

// TestHookWatches checks that a hook sees the value, that Hooked returns it, and that the rest of
// the graph does not change.
func TestHookWatches(t *testing.T) {
	plain, want := hookProgram(t, nil)
	require.NoError(t, plain.Run(graph.RunOptions{}))
	var seen []float64
	for _, hooks := range []graph.Hooks{{"h": nil}, {"h": func(name string, x *tensor.Dense) error {
		require.Equal(t, "h", name)
		require.Equal(t, tensor.Shape{2, 3}, x.Shape())
		seen = graph.Float64s(x)
		return nil
	}}} {
		p, y := hookProgram(t, hooks)
		_, err := p.Hooked("h")
		optest.RequireLine(t, err, `hook "h"`, "after a run")
		require.NoError(t, p.Run(graph.RunOptions{}))
		require.Equal(t, optest.ValuesOf(t, want.Value()), optest.ValuesOf(t, y.Value()))
		kept, err := p.Hooked("h")
		require.NoError(t, err)
		require.Equal(t, []float64{2, 4, 6, 8, 10, 12}, graph.Float64s(kept))
		_, err = p.Hooked("other")
		optest.RequireLine(t, err, `hook "other"`)
		require.Equal(t, plain.Nodes()+1, p.Nodes())
	}
	require.Equal(t, []float64{2, 4, 6, 8, 10, 12}, seen)
}

// TestHookReplaces checks that the graph continues with what a hook writes.
func TestHookReplaces(t *testing.T) {
	p, y := hookProgram(t, graph.Hooks{"h": func(_ string, x *tensor.Dense) error {
		x.Float32s()[1] = -1
		return nil
	}})
	for range 2 {
		require.NoError(t, p.Run(graph.RunOptions{}))
		require.Equal(t, []float64{6, -3, 18, 24, 30, 36}, optest.ValuesOf(t, y.Value()))
		kept, err := p.Hooked("h")
		require.NoError(t, err)
		require.Equal(t, []float64{2, -1, 6, 8, 10, 12}, graph.Float64s(kept))
	}
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, p.Input("x").Float32s(), "the hooked node's input stays")
}

// TestHookFails checks that an error or a panic of a hook becomes an error of the run.
func TestHookFails(t *testing.T) {
	p, _ := hookProgram(t, graph.Hooks{"h": func(string, *tensor.Dense) error { return errors.New("stop here") }})
	optest.RequireLine(t, p.Run(graph.RunOptions{}), "graph: run: Hook(h): stop here")
	p, _ = hookProgram(t, graph.Hooks{"h": func(string, *tensor.Dense) error { panic("no way") }})
	optest.RequireLine(t, p.Run(graph.RunOptions{}), "Hook(h): no way")
}

// TestHookOfScalar checks that a hook on a scalar, which it could not change, is refused.
func TestHookOfScalar(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{Hooks: graph.Hooks{"loss": nil}})
	loss := loss.CrossEntropy(b, b.Input("x", tensor.Float32, 2, 3), b.Input("w", tensor.Float32, 3, 5), b.Input("targets", tensor.Int32, 2), loss.Options{})
	require.Nil(t, b.Hook("loss", loss))
	optest.RequireLine(t, b.Err(), "Hook(loss): want a tensor, got a scalar")
}

// TestHookRunsOnce checks that a hooked activation inside a recomputed block is kept, not
// hooked a second time.
func TestHookRunsOnce(t *testing.T) {
	calls := 0
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1, Hooks: graph.Hooks{"h": func(string, *tensor.Dense) error { calls++; return nil }}},
		Gradients: true, Recompute: graph.RecomputeBlock}, func(b *graph.Builder) (graph.Roots, error) {
		x := embedding.Gather(b, b.Param(graph.ParamSpec{Name: "e", Shape: []int{5, 3}, Init: graph.Normal(1)}), b.Input("ids", tensor.Int32, 4), 1)
		b.Block(func() {
			x = elementwise.Gelu(b, b.Hook("h", elementwise.Scale(b, elementwise.Gelu(b, x, false), 2)), false)
		})
		w := b.Param(graph.ParamSpec{Name: "w", Shape: []int{3, 5}, Init: graph.Normal(1)})
		return graph.Roots{Loss: loss.CrossEntropy(b, x, w, b.Input("targets", tensor.Int32, 4), loss.Options{})}, nil
	})
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Run(graph.RunOptions{}))
	require.Equal(t, 1, calls)
}

// TestActivations checks that a graph lists its activations, hooked or not, with their axes: the
// caller names the last ones, and the one before them is the token axis.
func TestActivations(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	x := b.Input("x", tensor.Float32, 2, 3, 4)
	require.Same(t, x, b.Hook("named", x, "row", "entry"))
	b.Hook("some", x, "entry")
	b.Hook("none", x)
	b.Hook("all", x, "a", "b", "c")
	require.False(t, b.Hooked("fused"))
	b.Hook("named", x)
	require.NoError(t, b.Err())
	require.Equal(t, []string{"named", "some", "none", "all", "fused"}, b.ActivationNames())
	var axes [][]string
	for _, a := range b.Activations()[:4] {
		require.Equal(t, tensor.Shape{2, 3, 4}, a.Shape)
		axes = append(axes, a.Axes)
	}
	require.Equal(t, [][]string{{graph.TokenAxis, "row", "entry"}, {graph.TokenAxis, "axis1", "entry"}, {graph.TokenAxis, "axis1", "axis2"}, {"a", "b", "c"}}, axes)
}
