package optest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
)

// SameInAnyMemory checks that a program of a loss computes the same gradients, to the last bit,
// with separate buffers, with shared ones and with recomputation, in its second run as in its
// first; and that a run that accumulates doubles them.
func SameInAnyMemory(t *testing.T, program func(o graph.ProgramOptions) *graph.Program) {
	t.Helper()
	var want [][]float64
	for _, o := range []graph.ProgramOptions{{Separate: true}, {}, {Recompute: graph.RecomputeCheap}, {Recompute: graph.RecomputeBlock}} {
		p := program(o)
		var got [][]float64
		for range 2 {
			got = nil
			require.NoError(t, p.Run(graph.RunOptions{}))
			for _, param := range p.Store().Params() {
				got = append(got, append([]float64(nil), graph.Float64s(param.Grad)...))
			}
		}
		if want == nil {
			want = got
		}
		require.Equal(t, want, got, "%+v", o)
		require.NoError(t, p.Run(graph.RunOptions{Accumulate: true}))
		for i, param := range p.Store().Params() {
			require.InDeltaSlice(t, WantScale(want[i], 2), graph.Float64s(param.Grad), 1e-12, param.Name)
		}
	}
}
