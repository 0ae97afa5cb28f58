package experiment

import (
	"maps"
	"math"
	"slices"
)

// rateAt returns rung k of a ladder of rates, four a decade: 0.001 at 0, then 0.0018, 0.0032,
// 0.0056 and 0.01 at 4, and 0.00056 at -1. Neighbours differ by a factor of 1.75 to 1.8.
func rateAt(rung int) float64 {
	digits := []float64{1, 1.8, 3.2, 5.6}
	decade := int(math.Floor(float64(rung) / 4))
	return math.Round(digits[rung-4*decade]*10) / math.Pow10(4-decade)
}

// rungOf returns the rung nearest to a rate.
func rungOf(rate float64) int { return int(math.Round(4 * math.Log10(rate/rateAt(0)))) }

// Limits of a search: the distance from its start in rungs, and the rung of the largest
// train.lr, 10.
const (
	mostRungs = 8
	highest   = 16
)

// ladder is a search for the best rate, which must have worse ones on both sides.
type ladder struct {
	start  int
	losses map[int]float64 // by rung; NaN: diverged
}

// best returns the rung with the lowest loss; found is false if all have diverged.
func (l ladder) best() (rung int, found bool) {
	for _, k := range slices.Sorted(maps.Keys(l.losses)) {
		if loss := l.losses[k]; !math.IsNaN(loss) && (!found || loss < l.losses[rung]) {
			rung, found = k, true
		}
	}
	return rung, found
}

// next returns the rungs to try next, which can be tried at the same time: first the start and
// both its neighbours, then the untried neighbour of the best rung. If all rates so far have
// diverged, it returns the rung below them.
func (l ladder) next() (rungs []int) {
	best, found := l.best()
	near := []int{best - 1, best + 1}
	switch {
	case len(l.losses) == 0:
		near = []int{l.start, l.start - 1, l.start + 1}
	case !found:
		near = []int{slices.Min(slices.Collect(maps.Keys(l.losses))) - 1}
	}
	return slices.DeleteFunc(near, func(k int) bool {
		_, tried := l.losses[k]
		return tried || k > highest || max(k-l.start, l.start-k) > mostRungs
	})
}

// inside tells whether the best rate lies between two worse ones.
func (l ladder) inside() bool {
	best, found := l.best()
	_, below := l.losses[best-1]
	_, above := l.losses[best+1]
	return found && below && above
}
