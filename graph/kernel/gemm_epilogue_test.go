package kernel

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// counter counts how often each element of C is reported, and checks that it is final then.
type counter struct {
	mu   sync.Mutex
	n    int
	seen []int
	c    []float32
	want []float32
	bad  int
}

func (e *counter) Block(i, j, m, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := i; r < i+m; r++ {
		for s := j; s < j+n; s++ {
			e.seen[r*e.n+s]++
			if e.c[r*e.n+s] != e.want[r*e.n+s] {
				e.bad++
			}
		}
	}
}

// TestGemmEpilogue: every element of C is reported exactly once, when it is final.
func TestGemmEpilogue(t *testing.T) {
	for _, d := range [][3]int{{1, 1, 1}, {5, 7, 0}, {300, 17, 33}, {260, 2100, 800}, {32, 32, 9000}, {64, 1100, 384}} {
		for _, threads := range []int{1, 2, 3} {
			t.Run(fmt.Sprint(d, threads), func(t *testing.T) {
				m, n, k := d[0], d[1], d[2]
				a, b := make([]float32, m*k+1), make([]float32, k*n+1)
				for i := range a {
					a[i] = float32(i%13) - 6
				}
				for i := range b {
					b[i] = float32(i%7) - 3
				}
				p := NewPool(threads)
				defer p.Close()
				want, got := make([]float32, m*n), make([]float32, m*n)
				(&Gemm[float32]{}).Run(p, false, false, m, n, k, 1, a, max(1, k), b, n, 0, want, n)
				e := &counter{n: n, seen: make([]int, m*n), c: got, want: want}
				g := &Gemm[float32]{Epilogue: e}
				g.Run(p, false, false, m, n, k, 1, a, max(1, k), b, n, 0, got, n)
				require.Zero(t, e.bad, "reported before it was final")
				require.Equal(t, slices.Repeat([]int{1}, m*n), e.seen, "each element is reported once")
			})
		}
	}
}
