package kernel

import "math"

// Sigmoid computes the logistic function:
//
//	sigmoid(x) = 1/(1 + exp(-x))
//
// It is computed in float64 and rounded once; in float32 the error is at most 0.51 units in the
// last place. sigmoid(+Inf) = 1, NaN gives NaN; for x < -104 (float32) or x < -700 (float64) the
// result is the value at that limit, below 1e-45 and 1e-304. Out: the result, which may be x. In:
// x.
func Sigmoid[T Float](x Elements[T]) { sigmoid(x.path, x.Out[0], x.In[0]) }

// SigmoidGradient computes dx = dy sigmoid'(x) from y = sigmoid(x): dx = dy y (1 - y). Out: dx,
// which may be either input. In: dy, y.
func SigmoidGradient[T Float](x Elements[T]) {
	sigmoidGradient(x.path, x.Out[0], x.In[0], x.In[1])
}

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

// sigmoidPortable computes y = sigmoid(x).
func sigmoidPortable[T Float](y, x []T) {
	y = y[:len(x)]
	limit := sigmoidLimit[T]()
	for i, v := range x {
		y[i] = T(1 / (1 + sigmoidDecay[T](float64(v), limit)))
	}
}

// sigmoidGradientPortable computes dx = dy y (1 - y).
func sigmoidGradientPortable[T Float](dx, dy, y []T) {
	dx, dy = dx[:len(y)], dy[:len(y)]
	for i, v := range y {
		s := float64(v)
		dx[i] = T(float64(dy[i]) * s * (1 - s))
	}
}
