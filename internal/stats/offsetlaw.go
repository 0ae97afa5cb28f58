package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// OffsetLaw is y = E + A x^-B, a power law above an irreducible E (Hoffmann et al. 2022, section
// 3.3, in one variable).
type OffsetLaw struct {
	PowerLaw
	E float64
}

// At returns y for an x.
func (o OffsetLaw) At(x float64) float64 { return o.E + o.PowerLaw.At(x) }

// offsetSteps is how many values of E a fit tries.
const offsetSteps = 1000

// FitOffset fits the law with the least squared distance to points in log y, over values of E from
// 0 up to the smallest y in steps of a thousandth of it. p is the p-value of the F-test that E is
// 0. ok is false for fewer than four different x, which cannot separate E and B.
func FitOffset(x, y []float64) (best OffsetLaw, p float64, ok bool) {
	if different := slices.Compact(slices.Sorted(slices.Values(x))); len(different) < 4 {
		return best, math.NaN(), false
	}
	least, squares, plain := slices.Min(y), math.Inf(1), 0.0
	for step := range offsetSteps {
		law := fitAbove(least*float64(step)/offsetSteps, x, y)
		distance := 0.0
		for i := range x {
			distance += math.Pow(math.Log(y[i]/law.At(x[i])), 2)
		}
		if step == 0 {
			plain = distance
		}
		if distance < squares {
			best, squares = law, distance
		}
	}
	freedom := float64(len(x) - 3)
	return best, distuv.F{D1: 1, D2: freedom}.Survival((plain - squares) / (squares / freedom)), true
}

// fitAbove fits the law for a given E. Equal errors of log y become errors of log(y - E) that grow
// by y/(y - E), so points are weighted by the inverse square of that.
func fitAbove(e float64, x, y []float64) OffsetLaw {
	above, weights := make([]float64, len(y)), make([]float64, len(y))
	for i := range y {
		above[i] = math.Log(y[i] - e)
		weights[i] = math.Pow((y[i]-e)/y[i], 2)
	}
	level, slope := stat.LinearRegression(logs(x), above, weights, false)
	return OffsetLaw{PowerLaw{math.Exp(level), -slope}, e}
}
