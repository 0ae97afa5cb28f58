//go:build cuda

package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/optest"
)

// TestDeviceDeltaReadCached: rows of different length, read in several runs on a device, give the
// same results as in one run.
func TestDeviceDeltaReadCached(t *testing.T) {
	const seq, d = 6, 3
	tokens := []int32{1, 2, 3, 4, 5, 6, 7, 8, 0, 2, 4, 6}
	for precision, tolerance := range optest.DeviceTolerances() {
		o := graph.Options{Device: graph.CUDA, Precision: precision, DType: tensor.Float32}
		want := deltaReadTokens(t, deltaReadProgram(t, seq, o), tokens...)
		for _, step := range []int{1, 2, 5} {
			cache, err := graph.NewCache(3, seq)
			require.NoError(t, err)
			o.Cache = cache
			p := deltaReadProgram(t, step, o)
			got := make([]float64, len(want))
			for first := true; cache.Len(1) < seq || cache.Len(2) < seq; first = false {
				runs := []graph.RunRow{{Row: 2, Tokens: min(step, seq-cache.Len(2))}, {Row: 1, Tokens: min(step, seq-cache.Len(1))}}
				if first {
					runs[1].Tokens = step / 2
				}
				at := []int{cache.Len(2), seq + cache.Len(1)}
				for i := range runs {
					copy(p.Ints("tokens")[i*step:][:step], tokens[at[i]:][:runs[i].Tokens])
				}
				require.NoError(t, p.Run(graph.RunOptions{Rows: runs}))
				u := outputOf(t, p)
				for i := range runs {
					copy(got[at[i]*d:], u[i*step*d:][:runs[i].Tokens*d])
				}
			}
			optest.RequireClose(t, map[string][]float64{"u": want}, map[string][]float64{"u": got}, tolerance)
		}
	}
}
