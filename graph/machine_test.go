package graph_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/optest"
	"github.com/residua-go/residua/internal/countdown"
)

// deepTraining is the training program of a deep stack, with a stock node read by nothing else if asked for.
func deepTraining(t *testing.T, blocks int, stock bool) *graph.Program {
	t.Helper()
	o := graph.ProgramOptions{Options: graph.Options{Threads: 1, Seed: 5, Training: true}, Gradients: true}
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		roots := deepGraph(b, 6, blocks)
		if !stock {
			return roots, b.Err()
		}
		n, err := gorgonia.Neg(roots.Loss)
		roots.Outputs = gorgonia.Nodes{n}
		return roots, err
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// TestTheMachineDoesWhatTheTapeMachineDoes: a program that one stock node makes the tape machine's has the same bits.
// Every node has a value.
func TestTheMachineDoesWhatTheTapeMachineDoes(t *testing.T) {
	ours, theirs := deepTraining(t, 4, false), deepTraining(t, 4, true)
	require.True(t, ours.RunsByItself())
	require.False(t, theirs.RunsByItself())
	for step := range uint64(3) {
		for _, p := range []*graph.Program{ours, theirs} {
			copy(p.Ints("tokens"), []int32{3, 1, 4, 1, 5, 9})
			copy(p.Ints("targets"), []int32{2, 7, 1, 8, 2, 8})
			require.NoError(t, p.Run(graph.RunOptions{Step: step, Accumulate: step == 1}))
		}
		require.Equal(t, optest.ScalarOf(t, theirs.Roots().Loss), optest.ScalarOf(t, ours.Roots().Loss))
		for i, param := range ours.Store().Params() {
			require.Equal(t, theirs.Store().Params()[i].Grad.Data(), param.Grad.Data(), param.Name)
		}
	}
	for _, n := range ours.Builder().Graph().AllNodes() {
		require.NotNil(t, n.Value(), n.Name())
	}
}

// TestCompilingTakesLinearTime: eight times the blocks take about eight times as long, not 64 times.
func TestCompilingTakesLinearTime(t *testing.T) {
	compile := func(blocks int) time.Duration {
		best := time.Hour // of a few: the machine may be busy
		for range 3 {
			began := time.Now()
			deepTraining(t, blocks, false).Close()
			best = min(best, time.Since(began))
		}
		return best
	}
	few, many := compile(60), compile(480)
	t.Logf("60 blocks: %v, 480: %v", few, many)
	require.Less(t, many, 24*few)
}

// TestAContextEndsCompiling: at the next node, and at the next stage.
func TestAContextEndsCompiling(t *testing.T) {
	ctx := countdown.New(1 << 20)
	build := func(b *graph.Builder) (graph.Roots, error) { return deepGraph(b, 6, 2), b.Err() }
	o := graph.ProgramOptions{Options: graph.Options{Threads: 1, Context: ctx}, Gradients: true}
	p, err := graph.Compile(o, build)
	require.NoError(t, err)
	p.Close()
	asked := 1<<20 - ctx.Left
	require.Greater(t, asked, 40)
	for _, at := range []int{0, 1, 7, asked / 2, asked - 2, asked - 1} {
		ctx.Left = at
		_, err := graph.Compile(o, build)
		require.ErrorIs(t, err, context.Canceled, "asked %d times", at)
		require.Equal(t, -1, ctx.Left, "nothing goes on after that")
	}
}

// TestAContextEndsARun: between two ops. The next run is as any other.
func TestAContextEndsARun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ran := 0
	hooks := graph.Hooks{"a": func(string, *tensor.Dense) error { ran++; cancel(); return nil }, "b": func(string, *tensor.Dense) error { ran++; return nil }}
	var y *gorgonia.Node
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1, Hooks: hooks}}, func(b *graph.Builder) (graph.Roots, error) {
		y = b.Hook("b", elementwise.Scale(b, b.Hook("a", b.Input("x", tensor.Float32, 2, 3)), 3))
		return graph.Roots{Outputs: gorgonia.Nodes{y}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	copy(p.Input("x").Float32s(), []float32{1, 2, 3, 4, 5, 6})
	require.ErrorIs(t, p.Run(graph.RunOptions{Context: ctx}), context.Canceled)
	require.Equal(t, 1, ran)
	require.ErrorIs(t, p.Run(graph.RunOptions{Context: ctx}), context.Canceled)
	require.Equal(t, 1, ran, "it has ended before the first")
	require.NoError(t, p.Run(graph.RunOptions{}))
	require.Equal(t, []float64{3, 6, 9, 12, 15, 18}, optest.ValuesOf(t, y.Value()))
}
