package figure

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// ticks returns about the given number of round numbers in [low, high]: multiples of 1, 2 or 5
// times a power of ten.
func ticks(low, high float64, about int) []plot.Tick {
	if !(high > low) {
		return []plot.Tick{{Value: low, Label: number(low)}}
	}
	rough := (high - low) / float64(about)
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * power
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= rough*(1-1e-9) {
			step = factor * power
			break
		}
	}
	var at []plot.Tick
	first := math.Ceil(low/step - 1e-9)
	for i := 0.0; i <= 2*float64(about)+2; i++ {
		v := (first + i) * step
		if v > high+1e-9*step || !finite(v) {
			break
		}
		at = append(at, plot.Tick{Value: v + 0, Label: multiple(v+0, step, max(math.Abs(low), math.Abs(high)))}) // + 0 avoids a negative zero
	}
	return at
}

// multiple formats a multiple of step, with enough digits to distinguish multiples up to largest.
func multiple(v, step, largest float64) string {
	power := int(math.Floor(math.Log10(step) + 1e-9))
	if largest < 1e6 && power >= -4 {
		return strconv.FormatFloat(v, 'f', max(0, -power), 64)
	}
	digits := int(math.Ceil(math.Log10(largest))) - power
	return strconv.FormatFloat(v, 'g', max(1, min(15, digits+1)), 64)
}

// number formats a value with four digits, or with all digits before the point.
func number(v float64) string {
	if size := math.Abs(v); size >= 1e4 && size < 1e6 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v+0, 'g', 4, 64)
}

// logTicks returns numbers along a logarithmic axis: powers of ten, thinned if there are many, with
// 2 and 5 times them if there are few, and round numbers if that is still too few.
func logTicks(low, high float64, about int) []plot.Tick {
	for _, factors := range [][]float64{{1}, {1, 3}, {1, 2, 5}, {1, 1.5, 2, 3, 5, 7}} {
		if at := multiples(low, high, factors, 1); len(at) >= 3 {
			return multiples(low, high, factors, (len(at)+about-1)/about)
		}
	}
	return ticks(low, high, about)
}

// multiples returns factors times those powers of ten whose exponents every divides, in [low,
// high].
func multiples(low, high float64, factors []float64, every int) []plot.Tick {
	var at []plot.Tick
	for power := int(math.Floor(math.Log10(low))); power <= int(math.Ceil(math.Log10(high))); power++ {
		if power%every != 0 {
			continue
		}
		for _, f := range factors {
			if v := f * math.Pow10(power); v >= low*(1-1e-9) && v <= high*(1+1e-9) {
				at = append(at, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)})
			}
		}
	}
	return at
}
