package eval

import (
	"math"
	"math/rand/v2"
)

// defaultResamples is the number of resamples if the caller sets none.
const defaultResamples = 1000

// Bootstrap estimates the standard errors of statistics of n independent units, such as documents
// (Efron 1979): it draws resamples of n units each, with replacement, and returns the standard
// deviation of each statistic over them. statistics gets the units of a resample, n indices in [0,
// n), and returns the values. The same seed gives the same errors. resamples 0 means 1000. With
// fewer than two units or two resamples the errors are NaN.
func Bootstrap(n, resamples int, seed uint64, statistics func(units []int) []float64) []float64 {
	if resamples == 0 {
		resamples = defaultResamples
	}
	r := rand.New(rand.NewPCG(seed, 0))
	units := make([]int, n)
	for i := range units {
		units[i] = i
	}
	first := statistics(units) // subtracted from all values, so that the sums of their small differences keep precision
	sums, squares := make([]float64, len(first)), make([]float64, len(first))
	if n < 2 || resamples < 2 {
		for k := range sums {
			sums[k] = math.NaN()
		}
		return sums
	}
	for range resamples {
		for i := range units {
			units[i] = r.IntN(n)
		}
		for k, v := range statistics(units) {
			d := v - first[k]
			sums[k] += d
			squares[k] += d * d
		}
	}
	count := float64(resamples)
	for k := range sums {
		sums[k] = math.Sqrt(max(0, (squares[k]-sums[k]*sums[k]/count)/(count-1)))
	}
	return sums
}
