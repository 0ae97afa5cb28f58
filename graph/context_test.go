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

// TestOurStagesTakeLinearTime: eight times as many blocks take about eight times as long to build,
// not 64 times. Only the compilation of the tape machine grows with the square of the graph:
// Gorgonia's codegenerator.insertFree scans all nodes for each node. The time is this process's on
// all processors, which other programs hardly change.
func TestOurStagesTakeLinearTime(t *testing.T) {
	predict := func(blocks int) time.Duration { // runs all stages up to memory
		began := processorTime()
		_, err := graph.PredictMemory(graph.ProgramOptions{Options: graph.Options{Threads: 1, Training: true}, Gradients: true}, func(b *graph.Builder) (graph.Roots, error) {
			return deepGraph(b, 6, blocks), b.Err()
		})
		require.NoError(t, err)
		return processorTime() - began
	}
	few, many := time.Hour, time.Hour
	for range 20 { // the fastest of each: on a busy machine, until one of each ran undisturbed
		few, many = min(few, predict(60)), min(many, predict(480))
		if many < 24*few {
			t.Logf("60 blocks: %v, 480: %v", few, many)
			return
		}
	}
	require.Failf(t, "more than linear", "60 blocks: %v, 480: %v", few, many)
}

// TestAContextEndsCompiling: a context that ends stops compilation at the next node or the next
// stage.
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

// TestAContextEndsARun: a context that ends stops a run between two ops. The next run is not
// affected.
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
