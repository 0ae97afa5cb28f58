package numerics

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

// Estimate is a mean over rows of text, with its standard error: the standard deviation over the
// root of the number of rows, or 0 if there is one row.
type Estimate struct {
	Mean          float64 `json:"mean"`
	StandardError float64 `json:"standard_error"`
}

// NewEstimate returns the Estimate of values, one for each row.
func NewEstimate(values []float64) Estimate {
	e := Estimate{Mean: stat.Mean(values, nil)}
	if n := len(values); n > 1 {
		e.StandardError = stat.StdDev(values, nil) / math.Sqrt(float64(n))
	}
	return e
}

// String returns "1.234 ± 0.01", or the mean alone if there is one row.
func (e Estimate) String() string {
	if e.StandardError == 0 {
		return fmt.Sprintf("%.4g", e.Mean)
	}
	return PlusMinus(e.Mean, e.StandardError)
}

// PlusMinus returns "1.234 ± 0.01".
func PlusMinus(mean, deviation float64) string { return fmt.Sprintf("%.4g ± %.2g", mean, deviation) }

// Ratio returns a/b, or 0 if b is 0.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
