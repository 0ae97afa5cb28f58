package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// sumTask sums the rows of x.
type sumTask struct {
	x     []float32
	items pieces
	sums  treeSums[float32]
}

func (s *sumTask) Part(worker, lo, hi int) {
	sum := s.sums.begin(worker)
	s.items.each(lo, hi, func(first, end int) {
		for i := first; i < end; i++ {
			addTo(s.sums.path, sum.block, rowOf(s.x, i, s.sums.size))
			sum.added()
		}
	}, sum)
}

func (s *sumTask) run(p *Pool, path path, rows, width, size int) []float32 {
	out := make([]float32, width)
	s.items = pieces{rows, size}
	s.sums.want(p, path, out, false)
	p.Do(s.items.number(), s)
	s.sums.store(p)
	return out
}

// TestTreeSums: for any number of pieces, of one block or of several, the sum is right and the same
// with any number of threads, also in reused memory.
func TestTreeSums(t *testing.T) {
	const width = 37
	forEachPath[float32](t, func(t *testing.T, path path) {
		for _, size := range []int{4, 32, 100} {
			task := sumTask{}
			for rows := range 19 {
				rows *= 31
				task.x = normals[float32](uint64(rows), rows*width, 1)
				want := task.run(nil, path, rows, width, size)
				for _, threads := range append(threadCounts, 40) {
					p := NewPool(threads)
					require.Equal(t, want, task.run(p, path, rows, width, size), "%d rows, %d threads", rows, threads)
					p.Close()
				}
				requireRowSums(t, task.x, want)
			}
		}
	})
}

func requireRowSums(t *testing.T, x, got []float32) {
	t.Helper()
	for j, v := range got {
		sum, size := 0.0, 0.0
		for i := j; i < len(x); i += len(got) {
			sum, size = sum+float64(x[i]), size+math.Abs(float64(x[i]))
		}
		require.InDelta(t, sum, v, 1e-6*size)
	}
}

// TestTreeSumsOfLargeSizes checks sums that several workers add up.
func TestTreeSumsOfLargeSizes(t *testing.T) {
	const rows, width = 77, 5000
	task := sumTask{x: normals[float32](1, rows*width, 1)}
	want := task.run(nil, pathOf[float32](fastest), rows, width, 8)
	for _, threads := range threadCounts {
		p := NewPool(threads)
		require.Equal(t, want, task.run(p, pathOf[float32](fastest), rows, width, 8))
		p.Close()
	}
	requireRowSums(t, task.x, want)
}
