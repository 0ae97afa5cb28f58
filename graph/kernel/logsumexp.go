package kernel

import (
	"math"
	"slices"
)

// LogSumExp returns log sum_v exp(row_v), summed in float64, and the index of the largest value; of
// several, the first. It overwrites the row. With a NaN the logarithm is NaN.
func LogSumExp[T Float](row []T) (logZ float64, likeliest int) {
	p := pathOf[T](0)
	largest := softmaxMax(p, row)
	likeliest = max(0, slices.Index(row, largest))
	return float64(largest) + math.Log(softmaxExp(p, row, largest)), likeliest
}
