package kernel

import "math"

// sigmoidLimit returns an |x| beyond which sigmoid(x) is 0 or 1 and its derivative 0, to the last
// place of float32 and to 1e-304 in float64; exp of it is finite.
func sigmoidLimit[T Float]() float64 {
	if isSingle[T]() {
		return 104
	}
	return 700
}

// sigmoidDecay returns exp(-x), with x limited to [-limit, limit], in float32's precision or
// float64's: sigmoid(x) is 1/(1 + decay), and 1 - sigmoid(x) is decay/(1 + decay).
func sigmoidDecay[T Float](x, limit float64) float64 {
	x = -clamp(x, limit)
	if isSingle[T]() {
		scale, part := expSplit(x)
		return scale + part
	}
	return math.Exp(x)
}
