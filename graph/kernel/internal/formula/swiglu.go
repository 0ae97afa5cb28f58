package formula

// SwiGLU computes the product of a gated linear unit whose gate is SiLU (Shazeer 2020, arXiv
// 2002.05202, section 2; Hendrycks & Gimpel 2016): y = silu(gate) value, silu(x) = x sigmoid(x).
func SwiGLU(gate, value float64) (y float64) {
	return max(gate, -DecayLimit) * value / (1 + Decay(gate))
}

// SwiGLUGradient computes dgate = dy value silu'(gate) and dvalue = dy silu(gate), with silu'(x) =
// s (1 + x (1 - s)) and s = sigmoid(x).
func SwiGLUGradient(dy, gate, value float64) (dgate, dvalue float64) {
	decay := Decay(gate)
	open := 1 / (1 + decay)
	x := max(gate, -DecayLimit)
	through := dy * open
	// Without the limit, x = +Inf times a small 1 - s would be infinite.
	slope := through * (1 + min(x, DecayLimit)*(decay*open)) * value
	return slope, through * x
}
