package kernel

import "math"

// SoftCap bounds numbers smoothly (Bello et al. 2016, arXiv 1611.09940, section 5.3; Gemma 2,
// arXiv 2408.00118, section 2), element by element:
//
//	y = c tanh(x/c),   dy/dx = 1 - (y/c)^2
type SoftCap[T Float] struct {
	task softCapTask[T]
	path path
}

// Forward computes y = c tanh(x/c), for c > 0. y may be x.
func (k *SoftCap[T]) Forward(p *Pool, y, x []T, c float64) {
	k.task = softCapTask[T]{out: y[:len(x)], x: x, c: c, path: pathOf[T](k.path)}
	p.Do(len(x), &k.task)
}

// Backward computes dx = dy (1 - (y/c)^2) from y. dx may be dy or y.
func (k *SoftCap[T]) Backward(p *Pool, dx, dy, y []T, c float64) {
	k.task = softCapTask[T]{out: dx[:len(y)], dy: dy[:len(y)], x: y, c: c}
	p.Do(len(y), &k.task)
}

// softCapTask computes out = c tanh(x/c) or, if there is a dy, dx, where x holds y.
type softCapTask[T Float] struct {
	out, dy, x []T
	c          float64
	path       path
}

func (t *softCapTask[T]) Part(_, lo, hi int) {
	if t.dy == nil {
		softCap(t.path, t.out[lo:hi], t.out[lo:hi], t.x[lo:hi], t.c)
		return
	}
	for i := lo; i < hi; i++ {
		ratio := float64(t.x[i]) / t.c
		t.out[i] = T(float64(t.dy[i]) * (1 - ratio*ratio))
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
