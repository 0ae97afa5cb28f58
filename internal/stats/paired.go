package stats

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// mostFlips is the largest number of differences of which SignFlip tries all signs: 2^20 ways.
const mostFlips = 20

// SignFlip returns the p-value of the sign-flip test that the mean of paired differences is below 0
// (Fisher 1935): among all 2^n choices of their signs, the share whose sum is at most the observed
// one. The smallest p-value of n differences is 2^-n. Of more than 20 differences it draws 2^20
// choices, the observed one among them; the same number of differences draws the same choices. It
// returns NaN for no differences.
func SignFlip(differences []float64) float64 {
	n := len(differences)
	if n == 0 {
		return math.NaN()
	}
	sum := floats.Sum(differences)
	found := sum + 1e-12*floats.Norm(differences, 1) // sums in another order differ in their last bits
	if n > mostFlips {
		return drawnFlips(differences, found)
	}
	atMost := 1                       // the observed signs
	for i := uint(1); i < 1<<n; i++ { // Gray codes: one sign flips at a time
		at, flipped := bits.TrailingZeros(i), i^i>>1
		d := 2 * differences[at]
		if flipped>>at&1 == 1 {
			d = -d
		}
		if sum += d; sum <= found {
			atMost++
		}
	}
	return float64(atMost) / float64(uint(1)<<n)
}

// drawnFlips returns the share of random choices of signs whose sum is at most found.
func drawnFlips(differences []float64, found float64) float64 {
	const choices = 1 << mostFlips
	draw, atMost := rand.New(rand.NewPCG(3, uint64(len(differences)))), 1 // the observed signs
	for range choices - 1 {
		sum, signs := 0.0, uint64(0)
		for i, d := range differences {
			if i%64 == 0 {
				signs = draw.Uint64()
			}
			if signs>>(i%64)&1 == 1 {
				d = -d
			}
			sum += d
		}
		if sum <= found {
			atMost++
		}
	}
	return float64(atMost) / choices
}

// Holm adjusts the p-values of several tests. If those at most alpha are then taken as findings,
// the chance of any false one is at most alpha (Holm 1979). In ascending order the i-th of n,
// counted from 0, becomes (n - i) p, at least the one before it and at most 1. NaN, a test that
// has no data yet, counts as one of the n, after all others, and stays NaN.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return -cmp.Compare(-p[a], -p[b]) }) // cmp takes NaN for the smallest
	adjusted, last := make([]float64, len(p)), 0.0
	for i, at := range order {
		if math.IsNaN(p[at]) {
			adjusted[at] = p[at]
			continue
		}
		last = min(1, max(last, float64(len(p)-i)*p[at]))
		adjusted[at] = last
	}
	return adjusted
}

// BootstrapMean returns a 95% interval for the mean of the distribution from which x is a sample,
// by the bias-corrected and accelerated bootstrap (Efron 1987) with 10,000 resamples; the same x
// draws the same resamples. It returns NaN for fewer than three values, or if all are equal.
func BootstrapMean(x []float64) (low, high float64) {
	n, mean := len(x), stat.Mean(x, nil)
	if n < 3 || floats.Max(x) == floats.Min(x) {
		return math.NaN(), math.NaN()
	}
	draw := rand.New(rand.NewPCG(2, uint64(n)))
	means, below := make([]float64, draws), 0.0
	for i := range means {
		for range x {
			means[i] += x[draw.IntN(n)] / float64(n)
		}
		switch {
		case means[i] < mean:
			below++
		case means[i] == mean:
			below += 0.5
		}
	}
	slices.Sort(means)
	bias := distuv.UnitNormal.Quantile(below / draws)
	size := float64(n)
	acceleration := size * stat.Moment(3, x, nil) / (6 * math.Pow(size*stat.Moment(2, x, nil), 1.5)) // the jackknife's value for a mean
	end := func(share float64) float64 {
		z := bias + distuv.UnitNormal.Quantile(share)
		return stat.Quantile(distuv.UnitNormal.CDF(bias+z/(1-acceleration*z)), stat.Empirical, means, nil)
	}
	return end(0.025), end(0.975)
}
