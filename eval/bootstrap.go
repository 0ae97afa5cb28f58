package eval

import (
	"math"
	"math/rand/v2"
)

// defaultResamples is how often a bootstrap draws.
const defaultResamples = 1000

// Bootstrap returns the standard errors of statistics of n independent units, such as documents: the standard deviations of
// their values over resamples of n units each, drawn with replacement (Efron 1979). statistics gets the units of a resample,
// n indices in [0, n), and returns the values. The same seed gives the same errors. resamples 0 means 1000. Fewer than two units or two resamples give
// NaN.
func Bootstrap(n, resamples int, seed uint64, statistics func(units []int) []float64) []float64 {
	if resamples == 0 {
		resamples = defaultResamples
	}
	r := rand.New(rand.NewPCG(seed, 0))
	units := make([]int, n)
	for i := range units {
		units[i] = i
	}
	first := statistics(units) // shifts the sums, whose differences are small
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
