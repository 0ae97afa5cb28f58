package lines

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// mostTicks is how many numbers an axis has room for.
const mostTicks = 8

// logTicks puts numbers at 1, 2 and 5 times powers of ten, at 1 alone where that is
// enough, and at every few powers where it is too many.
func logTicks(low, high float64) []plot.Tick {
	for _, factors := range [][]float64{{1}, {1, 3}, {1, 2, 5}, {1, 1.5, 2, 3, 5, 7}} {
		if at := multiples(low, high, factors, 1); len(at) >= 3 {
			every := (len(at) + mostTicks - 1) / mostTicks
			return labelled(multiples(low, high, factors, every))
		}
	}
	return plot.DefaultTicks{}.Ticks(low, high)
}

// multiples lists factors times the powers of ten that every divides, in [low, high].
func multiples(low, high float64, factors []float64, every int) []float64 {
	var at []float64
	for power := int(math.Floor(math.Log10(low))); power <= int(math.Ceil(math.Log10(high))); power++ {
		if power%every != 0 {
			continue
		}
		for _, f := range factors {
			if v := f * math.Pow10(power); v >= low && v <= high {
				at = append(at, v)
			}
		}
	}
	return at
}

func labelled(at []float64) []plot.Tick {
	var ticks []plot.Tick
	for _, v := range at {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)})
	}
	return ticks
}
