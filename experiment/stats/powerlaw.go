package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// PowerLaw is y = A x^-B.
type PowerLaw struct{ A, B float64 }

// At is y of an x.
func (p PowerLaw) At(x float64) float64 { return p.A * math.Pow(x, -p.B) }

// Inverse is the x of a y.
func (p PowerLaw) Inverse(y float64) float64 { return math.Pow(y/p.A, -1/p.B) }

// FitPowerLaw is the power law of the least squared distance to points in log y over log x. It is false
// where there is none: of fewer than two different x.
func FitPowerLaw(x, y []float64) (PowerLaw, bool) {
	n, sx, sy, sxx, sxy := float64(len(x)), 0.0, 0.0, 0.0, 0.0
	for i := range x {
		lx, ly := math.Log(x[i]), math.Log(y[i])
		sx, sy = sx+lx, sy+ly
	}
	for i := range x {
		lx, ly := math.Log(x[i])-sx/n, math.Log(y[i])-sy/n
		sxx, sxy = sxx+lx*lx, sxy+lx*ly
	}
	slope := sxy / sxx
	return PowerLaw{math.Exp(sy/n - slope*sx/n), -slope}, n > 1 && sxx > 0 && !math.IsNaN(slope)
}

// Fit is a power law with resamples of it, which say how well it is known.
type Fit struct {
	PowerLaw
	resamples []PowerLaw
}

// Resamples is how many a Fit has.
const Resamples = 2000

// Bootstrap fits a power law and, for intervals, as many to points resampled by their residuals (Efron and Tibshirani 1993, section 9.4):
// each x gets the fit's y times the residual of a point drawn at random, residuals scaled by sqrt(n/(n-2)) for the two
// parameters that were fitted. The same points give the same resamples. It is false where no law is found, or with fewer than
// three points, whose residuals are nothing.
func Bootstrap(x, y []float64) (Fit, bool) {
	law, ok := FitPowerLaw(x, y)
	f := Fit{PowerLaw: law}
	if !ok || len(x) < 3 {
		return f, false
	}
	residuals := make([]float64, len(x))
	for i := range x {
		residuals[i] = math.Log(y[i]/law.At(x[i])) * math.Sqrt(float64(len(x))/float64(len(x)-2))
	}
	draw := rand.New(rand.NewPCG(1, uint64(len(x))))
	again := make([]float64, len(x))
	for range Resamples {
		for i := range x {
			again[i] = law.At(x[i]) * math.Exp(residuals[draw.IntN(len(residuals))])
		}
		if p, ok := FitPowerLaw(x, again); ok {
			f.resamples = append(f.resamples, p)
		}
	}
	return f, true
}

// Interval holds the middle 95% of a quantity of the resampled laws.
func (f Fit) Interval(of func(PowerLaw) float64) (low, high float64) {
	values := make([]float64, len(f.resamples))
	for i, p := range f.resamples {
		values[i] = of(p)
	}
	return middle(values)
}

// Ratio is a quantity of this law over that of another one, with an interval: the middle 95% over pairs of resamples.
func (f Fit) Ratio(other Fit, of func(PowerLaw) float64) (ratio, low, high float64) {
	values := make([]float64, min(len(f.resamples), len(other.resamples)))
	for i := range values {
		values[i] = of(f.resamples[i]) / of(other.resamples[len(other.resamples)-1-i])
	}
	low, high = middle(values)
	return of(f.PowerLaw) / of(other.PowerLaw), low, high
}

// middle are the 2.5% and the 97.5% quantile, NaN of nothing.
func middle(values []float64) (low, high float64) {
	slices.Sort(values)
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	at := func(share float64) float64 { return values[int(math.Round(share*float64(len(values)-1)))] }
	return at(0.025), at(0.975)
}
