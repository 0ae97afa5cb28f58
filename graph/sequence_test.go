package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
)

// TestSequenceEqualsTheTapeMachine: both compute the same bits, in one run after another, also with
// gradients that accumulate.
func TestSequenceEqualsTheTapeMachine(t *testing.T) {
	o := graph.ProgramOptions{Options: graph.Options{Threads: 2, Training: true, Seed: 3}, Gradients: true}
	own, tape := deepProgram(t, o, 5), deepProgram(t, o, 5)
	require.IsType(t, &graph.Sequence{}, own.Machine())
	require.NoError(t, tape.UseTapeMachine())
	for step := range uint64(4) {
		var got [2][]float64
		for i, p := range []*graph.Program{own, tape} {
			feedTokens(p, step)
			require.NoError(t, p.Run(graph.RunOptions{Step: step, Accumulate: step%2 == 1}))
			got[i] = lossAndGrads(t, p)
		}
		require.Equal(t, got[1], got[0], "step %d", step)
	}
}
