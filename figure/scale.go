package figure

import (
	"math"

	"gonum.org/v1/plot"
)

// scale is an axis of numbers, given by the values at its ends.
type scale struct {
	low, high float64
	log       bool
	numbers   []float64 // where to put numbers; nil: chosen automatically
}

// newScale returns a scale that contains no values yet.
func newScale(log bool, numbers []float64) scale {
	return scale{math.Inf(1), math.Inf(-1), log, numbers}
}

// mostDrawn is the largest number that can be drawn: differences and ratios of such numbers are
// finite.
const mostDrawn = 1e150

// holds tells whether a value can be drawn on the scale.
func (s scale) holds(v float64) bool {
	return math.Abs(v) <= mostDrawn && (v >= 1/mostDrawn || !s.log)
}

// add extends the scale to a value.
func (s *scale) add(v float64) {
	if s.holds(v) {
		s.low, s.high = min(s.low, v), max(s.high, v)
	}
}

// widened returns the scale with a little room at both ends, or much room around a single value.
func (s scale) widened() scale {
	const room = 0.03
	switch gap := room * (s.high - s.low); {
	case s.log:
		factor := max(math.Pow(s.high/s.low, room), 1.02)
		s.low, s.high = s.low/factor, s.high*factor
	case gap == 0:
		half := max(math.Abs(s.high)/2, 1e-9)
		s.low, s.high = s.low-half, s.high+half
	default:
		gap = max(gap, 1e-3*max(math.Abs(s.high), math.Abs(s.low)))
		s.low, s.high = s.low-gap, s.high+gap
	}
	return s
}

// onto applies the scale to an axis.
func (s scale) onto(a *plot.Axis) {
	a.Min, a.Max, a.Tick.Marker = s.low, s.high, plot.ConstantTicks(s.ticks(7))
	if s.log {
		a.Scale = plot.LogScale{}
	}
}

func (s scale) ticks(about int) []plot.Tick {
	switch {
	case s.numbers != nil:
		var at []plot.Tick
		for _, v := range s.numbers {
			if s.holds(v) && v >= s.low && v <= s.high {
				at = append(at, plot.Tick{Value: v, Label: number(v)})
			}
		}
		return at
	case s.log:
		return logTicks(s.low, s.high, about)
	}
	return ticks(s.low, s.high, about)
}
