package kernel

import "math"

// SoftCap bounds numbers smoothly (Bello et al. 2016, arXiv 1611.09940, section 5.3; Gemma 2,
// arXiv 2408.00118, section 2):
//
//	y = c tanh(x/c)
//
// Out: y, which may be x. In: x. Numbers: c > 0.
func SoftCap[T Float](x Elements[T]) {
	softCap(x.path, x.Out[0], x.Out[0], x.In[0], x.Numbers[0])
}

// SoftCapGradient computes dx = dy (1 - (y/c)^2). Out: dx, which may be either input. In: dy, y.
// Numbers: c.
func SoftCapGradient[T Float](x Elements[T]) {
	dx, dy, c := x.Out[0], x.In[0], x.Numbers[0]
	for i, y := range x.In[1] {
		ratio := float64(y) / c
		dx[i] = T(float64(dy[i]) * (1 - ratio*ratio))
	}
}

// softCap computes y = c tanh(x/c) and its derivative, slope. Either may be x. If only y is wanted,
// slope may be the same slice: y is written last.
func softCap[T Float](p path, y, slope, x []T, c float64) {
	y, slope = y[:len(x)], slope[:len(x)]
	if p > portable {
		fastSoftCap(p, y, slope, x, c, 2*math.Log2E/c)
		return
	}
	for i, v := range x {
		tanh := math.Tanh(float64(v) / c)
		slope[i] = T(1 - tanh*tanh)
		y[i] = T(c * tanh)
	}
}
