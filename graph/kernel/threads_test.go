package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// threadCounts lists numbers of threads that divide work evenly or not, some larger than this
// machine's.
var threadCounts = []int{1, 2, 3, 4, 7}

// requireSameBitsForAnyThreads checks that run gives the same bits on every Pool, and in every run.
func requireSameBitsForAnyThreads(t *testing.T, run func(p *Pool) [][]float32) {
	t.Helper()
	want := run(nil)
	for _, threads := range threadCounts {
		p := NewPool(threads)
		for range 2 {
			require.Equal(t, want, run(p), "%d threads", threads)
		}
		p.Close()
	}
}
