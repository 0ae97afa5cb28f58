package figure

import (
	"math"
	"slices"
)

// typicalRange returns the range of the raw values without the most extreme hundredth at each end,
// which would leave little room for the rest; nil if there are no raw values.
func (s Series) typicalRange(y scale) []float64 {
	var values []float64
	for _, v := range s.Raw {
		if y.holds(v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	extreme := len(values) / 100
	return []float64{values[extreme], values[len(values)-1-extreme]}
}

// windows is how many windows of the moving average a curve consists of.
const windows = 50

// Smoothed returns the series with its moving average as Y and its own values as Raw. A window
// covers about a fiftieth of the values, and less where the curve begins, because a loss is steep
// there. The average skips values that are not finite; if a window has no others, it is NaN. A
// series with few values stays unchanged.
func (s Series) Smoothed() Series {
	half := len(s.Y) / windows
	if half == 0 {
		return s
	}
	n := float64(len(s.Y))
	sums, counts := make([]float64, len(s.Y)+1), make([]float64, len(s.Y)+1) // prefix sums: over the values before each index
	for i, v := range s.Y {
		sums[i+1], counts[i+1] = sums[i], counts[i]
		if finite(v) {
			sums[i+1], counts[i+1] = sums[i]+v/n, counts[i]+1
		}
	}
	s.Raw, s.Y = s.Y, make([]float64, len(s.Y))
	for i := range s.Y {
		reach := min(half, i/4)
		from, to := i-reach, min(len(s.Y), i+reach+1)
		s.Y[i] = math.NaN()
		if counts[to] > counts[from] {
			s.Y[i] = (sums[to] - sums[from]) * (n / (counts[to] - counts[from]))
		}
	}
	return s
}
