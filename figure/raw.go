package figure

import (
	"math"
	"slices"
)

// typicalRange is the raw values' low and high end without the most extreme hundredth at each, which
// would leave little room for the rest; nil: there is nothing raw.
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

// windows is how many windows of the moving average a curve is long.
const windows = 50

// Smoothed is the series as its moving average, with its own values as Raw. A window is about a
// fiftieth of the values, and shorter where the curve begins, which is steep in a loss. Values that
// are not finite are left out; where a window has no other, the average is NaN. Few values stay as
// they are.
func (s Series) Smoothed() Series {
	half := len(s.Y) / windows
	if half == 0 {
		return s
	}
	n := float64(len(s.Y))
	sums, counts := make([]float64, len(s.Y)+1), make([]float64, len(s.Y)+1) // of the values before
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
