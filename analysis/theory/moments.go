package theory

import "math"

// Moments are the mean and the variance that all entries of a tensor have.
type Moments struct {
	Mean     float64 `json:"mean"`
	Variance float64 `json:"variance"`
}

// Square returns the mean square E[x^2] = variance + mean^2.
func (m Moments) Square() float64 { return m.Variance + m.Mean*m.Mean }

// finite tells whether both are finite numbers and the variance is not negative.
func (m Moments) finite() bool {
	return !math.IsNaN(m.Square()) && !math.IsInf(m.Square(), 0) && m.Variance >= 0
}
