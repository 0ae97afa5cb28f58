package stats

import (
	"gonum.org/v1/gonum/stat/distuv"
)

// mostSeeds is where a search for the number of seeds ends.
const mostSeeds = 1_000_000

// The error rates of a planned comparison.
const (
	Alpha = 0.05 // of finding a difference where there is none, two-sided
	Power = 0.8  // of finding the difference that there is
)

// PairedSeeds is the least number n of seeds, run with both of two designs, that shows a difference of their means by the
// paired t-test at Alpha with Power: n >= (t(1-Alpha/2) + t(Power))^2 s^2/d^2, quantiles of Student's t with n-1 degrees of freedom,
// s the standard deviation of the difference within a seed. 0: s or d is not known, or n is above a million.
func PairedSeeds(deviation, difference float64) int {
	return seeds(func(n float64) (freedom, variance float64) { return n - 1, deviation * deviation }, difference)
}

// UnpairedSeeds is the least number of seeds of each of two designs that shows a difference of their means by the t-test of independent samples,
// as PairedSeeds but with 2(n-1) degrees of freedom and the variance a^2 + b^2 of the two designs' deviations.
func UnpairedSeeds(a, b, difference float64) int {
	return seeds(func(n float64) (freedom, variance float64) { return 2 * (n - 1), a*a + b*b }, difference)
}

// seeds is the least n >= 2 that is enough by its own quantiles. The normal distribution's, which are less than any t's,
// say where to begin.
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
