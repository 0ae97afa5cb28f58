package theory

import (
	"fmt"
	"math"
	"strconv"
)

// short writes a number with up to four significant digits.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// plusMinus writes an estimate and its standard error.
func plusMinus(v, standardError float64) string { return fmt.Sprintf("%.4g ± %.1g", v, standardError) }

// deviations writes a number of standard errors.
func deviations(v float64) string { return fmt.Sprintf("%+.1f", v) }

// percent writes a share as a signed percentage.
func percent(v float64) string {
	if v != 0 && math.Abs(v) < 0.005 {
		return fmt.Sprintf("%+.2f%%", 100*v)
	}
	return fmt.Sprintf("%+.1f%%", 100*v)
}

// millions writes a count in millions.
func millions(n int) string { return fmt.Sprintf("%.2f", float64(n)/1e6) }

// fine writes a count in millions, to the thousand.
func fine(n int) string { return fmt.Sprintf("%.3f", float64(n)/1e6) }

// power writes a large number with three significant digits, as the paper does.
func power(v float64) string { return fmt.Sprintf("%.2e", v) }
