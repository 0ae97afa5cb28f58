package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// PowerLaw is y = A x^-B.
type PowerLaw struct{ A, B float64 }

// At returns y for an x.
func (p PowerLaw) At(x float64) float64 { return p.A * math.Pow(x, -p.B) }

// Inverse returns the x for a y.
func (p PowerLaw) Inverse(y float64) float64 { return math.Pow(y/p.A, -1/p.B) }

// FitPowerLaw fits the power law with the least squared distance to points in log y over log x. It
// returns false for fewer than two different x.
func FitPowerLaw(x, y []float64) (PowerLaw, bool) {
	if len(x) < 2 {
		return PowerLaw{}, false
	}
	level, slope := stat.LinearRegression(logs(x), logs(y), nil, false)
	return PowerLaw{math.Exp(level), -slope}, !math.IsNaN(slope) && !math.IsInf(slope, 0)
}

// logs returns the logarithms of values.
func logs(values []float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = math.Log(v)
	}
	return all
}

// Fit is a power law, with other laws that agree with its points, which show how well it is known.
type Fit struct {
	PowerLaw
	draws []PowerLaw
}

// draws is how many other laws a Fit has.
const draws = 10_000

// Infer fits a power law and, for intervals, draws laws that agree with the points, assuming that
// log y deviates from the law by normal errors of one standard deviation. That deviation is drawn
// as s sqrt((n-2)/chi squared) with n-2 degrees of freedom, level and slope as normal around the
// fit's (Gelman et al. 2013, section 14.2). The middle 95% of the exponents is then Student's
// interval of a regression. The same points give the same draws. It returns false if there is no
// law, or for fewer than three points, which leave no errors to estimate.
func Infer(x, y []float64) (Fit, bool) {
	law, ok := FitPowerLaw(x, y)
	f := Fit{PowerLaw: law}
	if !ok || len(x) < 3 {
		return f, false
	}
	n, squares := float64(len(x)), 0.0
	for i := range x {
		squares += math.Pow(math.Log(y[i]/law.At(x[i])), 2)
	}
	centre, variance := stat.PopMeanVariance(logs(x), nil)
	draw := rand.New(rand.NewPCG(1, uint64(len(x))))
	level := math.Log(law.A) - law.B*centre // log y at the centre
	for range draws {
		chi := 0.0
		for range len(x) - 2 {
			chi += math.Pow(draw.NormFloat64(), 2)
		}
		deviation := math.Sqrt(squares / chi)
		exponent := law.B + draw.NormFloat64()*deviation/math.Sqrt(n*variance)
		height := level + draw.NormFloat64()*deviation/math.Sqrt(n)
		f.draws = append(f.draws, PowerLaw{math.Exp(height + exponent*centre), exponent})
	}
	return f, true
}

// Interval returns the middle 95% of a quantity over the drawn laws.
func (f Fit) Interval(of func(PowerLaw) float64) (low, high float64) {
	values := make([]float64, len(f.draws))
	for i, p := range f.draws {
		values[i] = of(p)
	}
	return middle(values, 0.95)
}

// Ratio returns a quantity of this law divided by that of another one, with an interval: the middle
// 95% over pairs of draws.
func (f Fit) Ratio(other Fit, of func(PowerLaw) float64) (ratio, low, high float64) {
	values := make([]float64, min(len(f.draws), len(other.draws)))
	for i := range values {
		values[i] = of(f.draws[i]) / of(other.draws[len(other.draws)-1-i])
	}
	low, high = middle(values, 0.95)
	return of(f.PowerLaw) / of(other.PowerLaw), low, high
}

// middle returns the ends of the middle share of values, NaN if there are none.
func middle(values []float64, share float64) (low, high float64) {
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(values)
	outside := (1 - share) / 2
	return stat.Quantile(outside, stat.Empirical, values, nil), stat.Quantile(1-outside, stat.Empirical, values, nil)
}
