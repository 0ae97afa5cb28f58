package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLogSumExp(t *testing.T) {
	for _, n := range []int{1, 7, 16, 1000, 50257} {
		row, wide := make([]float32, n), make([]float64, n)
		sum, largest := 0.0, 0
		for i := range row {
			row[i] = float32(20 * math.Sin(float64(i*i)))
			wide[i] = float64(row[i])
			sum += math.Exp(wide[i])
			if row[i] > row[largest] {
				largest = i
			}
		}
		got, at := LogSumExp(row)
		assert.InDelta(t, math.Log(sum), got, 1e-7)
		assert.Equal(t, largest, at)
		got, at = LogSumExp(wide)
		assert.InDelta(t, math.Log(sum), got, 1e-12)
		assert.Equal(t, largest, at)
	}
	_, first := LogSumExp([]float32{1, 2, 2})
	assert.Equal(t, 1, first)
	bad, _ := LogSumExp([]float32{0, float32(math.NaN()), 1})
	assert.True(t, math.IsNaN(bad))
}
