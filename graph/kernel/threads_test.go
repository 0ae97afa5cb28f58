package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// threadCounts are numbers of threads that divide work evenly or not, more than this machine may
// have.
var threadCounts = []int{1, 2, 3, 4, 7}

// requireSameBitsForAnyThreads wants run to give the same bits on every Pool, and each time.
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
