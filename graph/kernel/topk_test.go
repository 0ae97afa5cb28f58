package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTopK: the largest positive entries stay, of equal ones the first, whatever a row holds and in
// place; rows are cut into parts without a trace.
func TestTopK(t *testing.T) {
	for _, row := range []struct {
		x, want []float64
		k       int
	}{
		{[]float64{1, 3, 2, 3, 3}, []float64{0, 3, 0, 3, 0}, 2},
		{[]float64{-1, -3, 0, 2, -2}, []float64{0, 0, 0, 2, 0}, 3},
		{[]float64{5, 4, 3, 2, 1}, []float64{5, 4, 3, 0, 0}, 3},
		{[]float64{1, 2, 3, 4, 5}, []float64{0, 0, 3, 4, 5}, 3},
		{[]float64{-1, -1, -1, -1, -1}, []float64{0, 0, 0, 0, 0}, 5},
	} {
		pool := NewPool(2)
		defer pool.Close()
		var x, want []float64
		for range 40 {
			x, want = append(x, row.x...), append(want, row.want...)
		}
		var k TopK[float64]
		y := make([]float64, len(x))
		k.Run(pool, y, x, 5, row.k)
		assert.Equal(t, want, y)
		k.Run(pool, x, x, 5, row.k)
		assert.Equal(t, want, x)
	}
}
