// Package stats quantifies how certain the results of training runs are: means over seeds with
// standard errors, tests of differences, the number of seeds that a difference needs, and power
// laws with intervals.
package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is a mean over seeds with its standard error s/sqrt(n), where s divides by n-1; NaN for
// one seed.
type Estimate struct{ Mean, Error float64 }

// Mean estimates the mean of the distribution from which x is a sample.
func Mean(x []float64) Estimate {
	mean, deviation := stat.MeanStdDev(x, nil)
	return Estimate{mean, deviation / math.Sqrt(float64(len(x)))}
}

// Median returns the middle value of x, or the mean of the two middle ones; 0 for no values.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(x))
	return (sorted[(len(x)-1)/2] + sorted[len(x)/2]) / 2
}

// Deviation estimates the standard deviation of the distribution from which x is a sample, dividing
// by n-1; NaN for one value.
func Deviation(x []float64) float64 { return stat.StdDev(x, nil) }

// DeviationInterval returns a 95% confidence interval for the standard deviation of a normal
// distribution, of which a sample of n values has the deviation s: from s sqrt((n-1)/c(97.5%)) to s
// sqrt((n-1)/c(2.5%)), where c are quantiles of chi squared with n-1 degrees of freedom.
func DeviationInterval(s float64, n int) (low, high float64) {
	c := distuv.ChiSquared{K: float64(n - 1)}
	return s * math.Sqrt(float64(n-1)/c.Quantile(0.975)), s * math.Sqrt(float64(n-1)/c.Quantile(0.025))
}

// Minus returns the difference of two independent estimates.
func (e Estimate) Minus(o Estimate) Estimate {
	return Estimate{e.Mean - o.Mean, math.Hypot(e.Error, o.Error)}
}

// Certain tells whether a difference exceeds two standard errors.
func (e Estimate) Certain() bool { return math.Abs(e.Mean) > 2*e.Error }

// PairedTest returns the two-sided p-value of Student's paired t-test: the probability that the
// differences of n pairs deviate from 0 as much as these if their true mean is 0. It returns NaN
// for fewer than two pairs.
func PairedTest(differences []float64) float64 {
	if len(differences) < 2 {
		return math.NaN()
	}
	e := Mean(differences)
	if e.Error == 0 && e.Mean == 0 {
		return 1
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(len(differences) - 1)}
	return 2 * t.CDF(-math.Abs(e.Mean/e.Error))
}
