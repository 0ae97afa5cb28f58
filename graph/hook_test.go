package graph

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// hookProgram is y = 3 hook(2 x).
func hookProgram(t *testing.T, hooks Hooks) (p *Program, y *gorgonia.Node) {
	t.Helper()
	p, err := Compile(ProgramOptions{Options: Options{Threads: 1, Hooks: hooks}}, func(b *Builder) (Roots, error) {
		x := b.Input("x", tensor.Float32, 2, 3)
		require.Equal(t, hooks != nil, b.Hooked("h"))
		y = b.Scale(b.Hook("h", b.Scale(x, 2)), 3)
		return Roots{Outputs: gorgonia.Nodes{y}}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	copy(p.Input("x").Float32s(), []float32{1, 2, 3, 4, 5, 6})
	return p, y
}

// TestHookWatches checks that a hook sees the value, that Hooked keeps it, and that the
// rest of the graph does not change.
func TestHookWatches(t *testing.T) {
	plain, want := hookProgram(t, nil)
	require.NoError(t, plain.Run(RunOptions{}))
	var seen []float64
	for _, hooks := range []Hooks{{"h": nil}, {"h": func(name string, x *tensor.Dense) error {
		require.Equal(t, "h", name)
		require.Equal(t, tensor.Shape{2, 3}, x.Shape())
		seen = Float64s(x)
		return nil
	}}} {
		p, y := hookProgram(t, hooks)
		_, err := p.Hooked("h")
		requireLine(t, err, `hook "h"`, "after a run")
		require.NoError(t, p.Run(RunOptions{}))
		require.Equal(t, valuesOf(t, want.Value()), valuesOf(t, y.Value()))
		kept, err := p.Hooked("h")
		require.NoError(t, err)
		require.Equal(t, []float64{2, 4, 6, 8, 10, 12}, Float64s(kept))
		_, err = p.Hooked("other")
		requireLine(t, err, `hook "other"`)
		require.Equal(t, plain.Nodes()+1, p.Nodes())
	}
	require.Equal(t, []float64{2, 4, 6, 8, 10, 12}, seen)
}

// TestHookReplaces checks that what a hook leaves is what the graph goes on with.
func TestHookReplaces(t *testing.T) {
	p, y := hookProgram(t, Hooks{"h": func(_ string, x *tensor.Dense) error {
		x.Float32s()[1] = -1
		return nil
	}})
	for range 2 {
		require.NoError(t, p.Run(RunOptions{}))
		require.Equal(t, []float64{6, -3, 18, 24, 30, 36}, valuesOf(t, y.Value()))
		kept, err := p.Hooked("h")
		require.NoError(t, err)
		require.Equal(t, []float64{2, -1, 6, 8, 10, 12}, Float64s(kept))
	}
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, p.Input("x").Float32s(), "the hooked node's input stays")
}

// TestHookFails checks that a hook's error, and its panic, are errors of the run.
func TestHookFails(t *testing.T) {
	p, _ := hookProgram(t, Hooks{"h": func(string, *tensor.Dense) error { return errors.New("stop here") }})
	requireLine(t, p.Run(RunOptions{}), "graph: run: Hook(h): stop here")
	p, _ = hookProgram(t, Hooks{"h": func(string, *tensor.Dense) error { panic("no way") }})
	requireLine(t, p.Run(RunOptions{}), "Hook(h): no way")
}

// TestHookOfScalar checks that a hook on a scalar, which it could not change, is refused.
func TestHookOfScalar(t *testing.T) {
	b := On(gorgonia.NewGraph(), Options{Hooks: Hooks{"loss": nil}})
	loss := b.CrossEntropy(b.Input("x", tensor.Float32, 2, 3), b.Input("w", tensor.Float32, 3, 5), b.Input("targets", tensor.Int32, 2), LossOptions{})
	require.Nil(t, b.Hook("loss", loss))
	requireLine(t, b.Err(), "Hook(loss): want a tensor, got a scalar")
}

// TestHookRunsOnce checks that a hooked activation inside a recomputed block is kept, not
// hooked a second time.
func TestHookRunsOnce(t *testing.T) {
	calls := 0
	p, err := Compile(ProgramOptions{Options: Options{Threads: 1, Hooks: Hooks{"h": func(string, *tensor.Dense) error { calls++; return nil }}},
		Gradients: true, Recompute: RecomputeBlock}, func(b *Builder) (Roots, error) {
		x := b.Embedding(b.Param(ParamSpec{Name: "e", Shape: []int{5, 3}, Init: Normal(1)}), b.Input("ids", tensor.Int32, 4), 1)
		b.Block(func() { x = b.Gelu(b.Hook("h", b.Scale(b.Gelu(x, false), 2)), false) })
		w := b.Param(ParamSpec{Name: "w", Shape: []int{3, 5}, Init: Normal(1)})
		return Roots{Loss: b.CrossEntropy(x, w, b.Input("targets", tensor.Int32, 4), LossOptions{})}, nil
	})
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Run(RunOptions{}))
	require.Equal(t, 1, calls)
}

// TestActivations checks that a graph lists its names, hooked or not, and their axes: the
// last ones are named by the caller, the one before is that of tokens.
func TestActivations(t *testing.T) {
	b := On(gorgonia.NewGraph(), Options{})
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
	require.Equal(t, [][]string{{TokenAxis, "row", "entry"}, {TokenAxis, "axis1", "entry"}, {TokenAxis, "axis1", "axis2"}, {"a", "b", "c"}}, axes)
}
