package formula

// SoftCap bounds numbers smoothly (Bello et al. 2016, arXiv 1611.09940, section 5.3; Gemma 2,
// arXiv 2408.00118, section 2): y = c tanh(x/c), c > 0.
func SoftCap(x float64, c Number) (y float64) { return c * Tanh(x/c) }

// SoftCapGradient computes dx = dy (1 - (y/c)^2).
func SoftCapGradient(dy, y float64, c Number) (dx float64) {
	ratio := y / c
	return dy * (1 - ratio*ratio)
}

// SoftCapSlope computes y = c tanh(x/c) and its derivative.
//
//residua:rows
func SoftCapSlope(x float64, c Number) (y, slope float64) {
	tanh, slope := TanhSlope(x / c)
	return c * tanh, slope
}
