//go:build cuda

package graph_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/optim"
)

// replayedStep trains a program for one step of two micro-batches and returns their losses.
func replayedStep(t *testing.T, p *graph.Program, o *optim.Optimizer, step int, profile bool) (losses []float64) {
	t.Helper()
	for micro := range 2 {
		for i, ids := 0, p.Ints("tokens"); i < len(ids); i++ {
			ids[i] = int32((i*7 + 3*step + micro) % profileVocab)
		}
		require.NoError(t, p.Run(graph.RunOptions{Accumulate: micro > 0, Step: uint64(step), Profile: profile}))
		loss, err := graph.Scalar(p.Roots().Loss)
		require.NoError(t, err)
		losses = append(losses, loss)
	}
	_, err := o.Step(1)
	require.NoError(t, err)
	return losses
}

func replayed(t *testing.T, precision graph.Precision, steps int) (losses []float64) {
	p := profiled(t, graph.ProgramOptions{Options: graph.Options{Device: graph.CUDA, Precision: precision}})
	o, err := optim.New(p.Store(), 1, optim.Clip(1))
	require.NoError(t, err)
	for step := range steps {
		losses = append(losses, replayedStep(t, p, o, step, step == 3)...)
	}
	o.Close()
	p.Close()
	require.NoError(t, p.Store().Close())
	return losses
}

// TestDeviceReplay: with RESIDUA_CUDA_GRAPH=1 steps have the same bits, and all but the first run
// of each kind and those that are profiled are CUDA graphs.
func TestDeviceReplay(t *testing.T) {
	const steps = 6
	for _, precision := range graph.Precisions() {
		t.Setenv("RESIDUA_CUDA_GRAPH", "")
		want := replayed(t, precision, steps)
		emulator.ResetCounters()
		t.Setenv("RESIDUA_CUDA_GRAPH", "1")
		got := replayed(t, precision, steps)
		require.Equal(t, want, got, precision)
		for _, loss := range got {
			require.False(t, math.IsNaN(loss))
		}
		if emulator.Emulated() {
			require.EqualValues(t, 2*(steps-1)-2, emulator.Counters().Graphs, precision)
		}
	}
}

// TestDeviceReplayAgain: if another program makes the scratch memory grow, the recording is made
// again.
func TestDeviceReplayAgain(t *testing.T) {
	t.Setenv("RESIDUA_CUDA_GRAPH", "1")
	p := profiled(t, graph.ProgramOptions{Options: graph.Options{Device: graph.CUDA, Precision: graph.BF16}})
	o, err := optim.New(p.Store(), 1, optim.Clip(1))
	require.NoError(t, err)
	for step := range 3 {
		replayedStep(t, p, o, step, false)
	}
	larger, err := graph.Compile(graph.ProgramOptions{Gradients: true, Options: graph.Options{Device: graph.CUDA, Precision: graph.BF16, Store: p.Store()}},
		func(b *graph.Builder) (graph.Roots, error) { return manyTokens(b, 16*profileSeq) })
	require.NoError(t, err)
	require.NoError(t, larger.Run(graph.RunOptions{}))
	larger.Close()
	emulator.ResetCounters()
	for step := range 3 {
		replayedStep(t, p, o, step, false)
	}
	if emulator.Emulated() {
		require.EqualValues(t, 4, emulator.Counters().Graphs, "all but one run of each kind")
	}
	o.Close()
	p.Close()
	require.NoError(t, p.Store().Close())
}

// TestDeviceReplayOfOtherInputs: an input that was given another tensor than the program's is not
// replayed, which would use the program's.
func TestDeviceReplayOfOtherInputs(t *testing.T) {
	if !emulator.Emulated() {
		t.Skip("the emulator counts")
	}
	t.Setenv("RESIDUA_CUDA_GRAPH", "1")
	p := profiled(t, graph.ProgramOptions{Options: graph.Options{Device: graph.CUDA, Precision: graph.BF16}})
	emulator.ResetCounters()
	for range 2 {
		require.NoError(t, p.Run(graph.RunOptions{}))
	}
	require.EqualValues(t, 1, emulator.Counters().Graphs)
	nodes := p.Builder().Graph().AllNodes()
	tokens := nodes[slices.IndexFunc(nodes, func(n *gorgonia.Node) bool { return n.Name() == "tokens" })]
	require.NoError(t, gorgonia.Let(tokens, p.Input("tokens").Clone()))
	require.NoError(t, p.Run(graph.RunOptions{}))
	require.EqualValues(t, 1, emulator.Counters().Graphs)
	p.Close()
	require.NoError(t, p.Store().Close())
}
