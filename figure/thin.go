package figure

import (
	"math"

	"gonum.org/v1/plot/plotter"
)

// every returns the smallest round number k such that k steps of the given size are at least
// as long as needed: then every k-th label is shown.
func every(step, needed float64) int {
	for power := 1; ; power *= 10 {
		for _, factor := range []int{1, 2, 5} {
			if k := factor * power; float64(k)*step >= needed || k >= 1e9 {
				return k
			}
		}
	}
}

// stronger returns the value with the stronger colour: the one farther from 0 if diverging,
// otherwise the larger one; NaN, no value, is weaker than any.
func stronger(a, b float64, diverging bool) float64 {
	switch {
	case !finite(b):
		return a
	case !finite(a):
		return b
	case diverging && math.Abs(b) > math.Abs(a), !diverging && b > a:
		return b
	}
	return a
}

// pooled shortens values to a length, keeping the strongest value at each place.
func pooled(values []float64, length int) []float64 {
	short := make([]float64, length)
	for i := range short {
		short[i] = math.NaN()
		from, to := share(i, length, len(values))
		for _, v := range values[from:to] {
			short[i] = stronger(short[i], v, true)
		}
	}
	return short
}

// share returns the range of n things, at least one, that fall on place i of length places.
func share(i, length, n int) (from, to int) {
	from = i * n / length
	return from, max(from+1, (i+1)*n/length)
}

// extremes thins points to at most most: it keeps the first and the last, and between them the
// lowest and highest point of each segment, in order.
func extremes(points plotter.XYs, most int) plotter.XYs {
	if len(points) <= most {
		return points
	}
	inner, segments := points[1:len(points)-1], (most-2)/2
	thin := plotter.XYs{points[0]}
	for s := range segments {
		from, to := share(s, segments, len(inner))
		low, high := from, from
		for i := from; i < to; i++ {
			if inner[i].Y < inner[low].Y {
				low = i
			}
			if inner[i].Y > inner[high].Y {
				high = i
			}
		}
		thin = append(thin, inner[min(low, high)])
		if low != high {
			thin = append(thin, inner[max(low, high)])
		}
	}
	return append(thin, points[len(points)-1])
}

// spread thins points evenly to at most most.
func spread(points plotter.XYs, most int) plotter.XYs {
	var thin plotter.XYs
	for i := 0; i < len(points); i += (len(points) + most - 1) / most {
		thin = append(thin, points[i])
	}
	return thin
}
