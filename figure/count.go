package figure

import "strconv"

// Count returns the unit in which counts up to largest are drawn, and its name: 1e6 and "million
// tokens" for tokens.
func Count(of string, largest float64) (unit float64, name string) {
	const least = 2 // a unit is used from this many of it on
	for _, u := range []struct {
		size float64
		name string
	}{{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}, {1e3, "thousand"}} {
		if largest >= least*u.size {
			return u.size, u.name + " " + of
		}
	}
	return 1, of
}

// Thousands formats a count with commas: 1,234,567.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
