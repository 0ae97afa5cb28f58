package stats

import (
	"gonum.org/v1/gonum/stat/distuv"
)

// mostSeeds ends the search for a number of seeds.
const mostSeeds = 1_000_000

// Error rates of a planned comparison.
const (
	Alpha = 0.05 // probability of finding a difference where there is none, two-sided
	Power = 0.8  // probability of finding a difference that exists
)

// PairedSeeds returns the smallest number n of seeds, used with both of two designs, that shows a
// difference of their means by the paired t-test at Alpha with Power: n >= (t(1-Alpha/2) +
// t(Power))^2 s^2/d^2, with quantiles of Student's t with n-1 degrees of freedom and s the standard
// deviation of the difference within a seed. It returns 0 if s or d is unknown, or if n exceeds a
// million.
func PairedSeeds(deviation, difference float64) int {
	return seeds(func(n float64) (freedom, variance float64) { return n - 1, deviation * deviation }, difference)
}

// UnpairedSeeds returns the smallest number of seeds for each of two designs that shows a
// difference of their means by the t-test of independent samples. It computes as PairedSeeds, but
// with 2(n-1) degrees of freedom and the variance a^2 + b^2 from the two designs' deviations.
func UnpairedSeeds(a, b, difference float64) int {
	return seeds(func(n float64) (freedom, variance float64) { return 2 * (n - 1), a*a + b*b }, difference)
}

// seeds returns the smallest n >= 2 that suffices by the quantiles for n itself. It starts from the
// quantiles of the normal distribution, which are smaller than any t's.
func seeds(of func(n float64) (freedom, variance float64), difference float64) int {
	need := func(n float64, quantile func(p, freedom float64) float64) float64 {
		freedom, variance := of(n)
		q := quantile(1-Alpha/2, freedom) + quantile(Power, freedom)
		return q * q * variance / (difference * difference)
	}
	least := need(2, func(p, _ float64) float64 { return distuv.UnitNormal.Quantile(p) })
	if !(least <= mostSeeds) {
		return 0
	}
	n := max(2, int(least))
	for float64(n) < need(float64(n), func(p, freedom float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(p) }) {
		n++
	}
	return n
}
