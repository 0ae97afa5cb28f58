// Package stats says how sure the results of trainings are: means over seeds and their standard
// errors, tests of differences, the number of seeds that a difference needs, and power laws with intervals.
package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is a mean over seeds and its standard error, s/sqrt(n) with s over n-1; NaN of one seed.
type Estimate struct{ Mean, Error float64 }

// Mean estimates the mean of what x is a sample of.
func Mean(x []float64) Estimate {
	mean, deviation := stat.MeanStdDev(x, nil)
	return Estimate{mean, deviation / math.Sqrt(float64(len(x)))}
}

// Deviation is the standard deviation of what x is a sample of, over n-1; NaN of one value.
func Deviation(x []float64) float64 { return stat.StdDev(x, nil) }

// DeviationInterval is where the true standard deviation lies with 95% if a normal sample of n values has the deviation s: from
// s sqrt((n-1)/c(97.5%)) to s sqrt((n-1)/c(2.5%)), c the quantiles of chi squared with n-1 degrees of freedom.
func DeviationInterval(s float64, n int) (low, high float64) {
	c := distuv.ChiSquared{K: float64(n - 1)}
	return s * math.Sqrt(float64(n-1)/c.Quantile(0.975)), s * math.Sqrt(float64(n-1)/c.Quantile(0.025))
}

// Minus is the difference of two estimates that do not depend on each other.
func (e Estimate) Minus(o Estimate) Estimate {
	return Estimate{e.Mean - o.Mean, math.Hypot(e.Error, o.Error)}
}

// Certain tells whether a difference is more than two standard errors.
func (e Estimate) Certain() bool { return math.Abs(e.Mean) > 2*e.Error }

// PairedTest is the p-value of Student's paired t-test, two-sided: the probability that differences of n pairs
// lie as far from 0 as these where their true mean is 0. NaN of fewer than two pairs.
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
