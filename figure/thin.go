package figure

import (
	"math"

	"gonum.org/v1/plot/plotter"
)

// every is the smallest round number k such that k steps of a size hold what is needed: every
// k-th of many labels is shown.
func every(step, needed float64) int {
	for power := 1; ; power *= 10 {
		for _, factor := range []int{1, 2, 5} {
			if k := factor * power; float64(k)*step >= needed || k >= 1e9 {
				return k
			}
		}
	}
}

// stronger returns the value of the stronger colour: the one farther from 0 if diverging, else
// the larger; anything is stronger than no value.
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

// pooled shortens values to a length: the strongest of those that share a place.
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

// share is the range of n things that have place i of length places: at least one.
func share(i, length, n int) (from, to int) {
	from = i * n / length
	return from, max(from+1, (i+1)*n/length)
}

// extremes thins points to at most most: the first and last, and of each of the segments between
// the lowest and the highest, in their order.
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

// spread thins points to at most most, evenly.
func spread(points plotter.XYs, most int) plotter.XYs {
	var thin plotter.XYs
	for i := 0; i < len(points); i += (len(points) + most - 1) / most {
		thin = append(thin, points[i])
	}
	return thin
}
