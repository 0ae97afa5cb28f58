package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// SharedLaw is a power law for each of several curves above an irreducible E that all of them
// share, y = E + A x^-B (Hoffmann et al. 2022, section 3.3, in one variable).
type SharedLaw struct {
	E    float64
	Laws []PowerLaw // in the order of the curves
}

// Runs are the runs of one place of a curve, which differ by their seed: run i has X[i] and Y[i].
type Runs struct{ X, Y []float64 }

// SharedFit is a shared law, with the laws of resampled runs, which show how well it is known.
type SharedFit struct {
	SharedLaw
	draws []SharedLaw
}

// sharedDraws is how many times FitShared resamples.
const sharedDraws = 2000

// FitShared fits the law with nearly the least squared distance to the curves in log y (nearly: see
// fitAbove), where each place is the geometric mean of its runs, weighted by their number. Without
// above, E is 0.
//
// It fits again to 2,000 resamples, which draw as many runs of each place as there are, with
// replacement. The mean of n such runs varies by (n-1)/n of what the mean of n new runs would, so
// its deviation is multiplied by sqrt(n/(n-1)). The same runs give the same resamples. There are
// none if a place has only one run, which shows no deviation.
//
// ok is false without two different x in each curve, and more places than parameters.
func FitShared(curves [][]Runs, above bool) (f SharedFit, ok bool) {
	parameters, places, repeated := 2*len(curves), 0, true
	if above {
		parameters++
	}
	for _, c := range curves {
		if !slices.ContainsFunc(c, func(r Runs) bool { return r.X[0] != c[0].X[0] }) {
			return f, false
		}
		places += len(c)
		repeated = repeated && !slices.ContainsFunc(c, func(r Runs) bool { return len(r.Y) < 2 })
	}
	if places <= parameters {
		return f, false
	}
	f.SharedLaw = fitShared(meansOf(curves, Runs.mean), above)
	if !repeated {
		return f, true
	}
	random := rand.New(rand.NewPCG(3, uint64(places)))
	for range sharedDraws {
		resampled := meansOf(curves, func(r Runs) mean { return r.resample(random) })
		f.draws = append(f.draws, fitShared(resampled, above))
	}
	return f, true
}

// Interval returns a quantity of the law, and the interval that holds the middle share, such as
// 0.95, of its values over the resamples; NaN without resamples.
func (f SharedFit) Interval(of func(SharedLaw) float64, share float64) (value, low, high float64) {
	values := make([]float64, len(f.draws))
	for i, d := range f.draws {
		values[i] = of(d)
	}
	low, high = middle(values, share)
	return of(f.SharedLaw), low, high
}

// DifferenceShare is the share of the resamples that the interval of a difference of two exponents
// holds. The exponents differ if this interval excludes 0. Where the 95% interval of E reaches 0,
// the interval of the fit with an E of 0 must exclude 0, too. With three runs at each of four
// places in two curves with equal exponents, this rule finds a difference in 3 to 6% of simulated
// experiments; with a share of 0.95 it does in 7 to 11% (BenchmarkSharedLawFalseAlarms).
const DifferenceShare = 0.99

// mean is a place of a curve: the means of the logarithms of its runs, and their number.
type mean struct{ x, y, runs float64 }

func meansOf(curves [][]Runs, of func(Runs) mean) [][]mean {
	all := make([][]mean, len(curves))
	for i, c := range curves {
		for _, r := range c {
			all[i] = append(all[i], of(r))
		}
	}
	return all
}

func (r Runs) mean() mean {
	return mean{stat.Mean(logs(r.X), nil), stat.Mean(logs(r.Y), nil), float64(len(r.Y))}
}

// resample draws runs anew, as FitShared says.
func (r Runs) resample(random *rand.Rand) mean {
	m, n := r.mean(), len(r.Y)
	x, y := 0.0, 0.0
	for range n {
		i := random.IntN(n)
		x, y = x+math.Log(r.X[i])-m.x, y+math.Log(r.Y[i])-m.y
	}
	grow := math.Sqrt(float64(n)/float64(n-1)) / float64(n)
	return mean{m.x + grow*x, m.y + grow*y, m.runs}
}

// fitShared fits the law. Above E it tries twenty values from 0 up to the least y, and then four
// times twenty around the best one, each time ten times closer.
func fitShared(curves [][]mean, above bool) SharedLaw {
	least := math.Inf(1)
	for _, c := range curves {
		for _, m := range c {
			least = min(least, math.Exp(m.y))
		}
	}
	best, squares := fitAbove(0, curves)
	if !above {
		return best
	}
	from, step := 0.0, least/20
	for range 5 {
		for i := range 20 {
			if e := from + float64(i)*step; e > 0 && e < least {
				if law, distance := fitAbove(e, curves); distance < squares {
					best, squares = law, distance
				}
			}
		}
		from, step = best.E-step, step/10
	}
	return best
}

// fitAbove fits the law for a given E, and returns its weighted squared distance in log y. It fits
// lines to log(y - E), in which equal errors of log y grow by y/(y - E), so places are weighted by
// the inverse square of that: exact for small errors.
func fitAbove(e float64, curves [][]mean) (law SharedLaw, squares float64) {
	law.E = e
	for _, c := range curves {
		x, y, weights := make([]float64, len(c)), make([]float64, len(c)), make([]float64, len(c))
		for i, m := range c {
			share := 1 - e/math.Exp(m.y)
			x[i], y[i], weights[i] = m.x, m.y+math.Log(share), m.runs*share*share
		}
		level, slope := stat.LinearRegression(x, y, weights, false)
		one := PowerLaw{math.Exp(level), -slope}
		for _, m := range c {
			squares += m.runs * math.Pow(m.y-math.Log(e+one.At(math.Exp(m.x))), 2)
		}
		law.Laws = append(law.Laws, one)
	}
	return law, squares
}
