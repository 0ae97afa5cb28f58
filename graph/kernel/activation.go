package kernel

import "fmt"

// Activation is a nonlinearity of a feed-forward's hidden layer. The kernels of a device use the
// same numbers (cuda/activations.cuh).
type Activation uint8

// The activations and their numbers.
const (
	GeluTanh    Activation = iota // see geluTanh
	GeluExact                     // see geluExact
	ReLUSquared                   // max(x, 0)^2 (So et al. 2021, arXiv 2109.08668, section 3)
	ReLU                          // max(x, 0); its derivative at 0 is 0
)

// String returns the name.
func (a Activation) String() string {
	switch a {
	case GeluTanh:
		return "Gelu(exact=false)"
	case GeluExact:
		return "Gelu(exact=true)"
	case ReLUSquared:
		return "ReLUSquared"
	case ReLU:
		return "ReLU"
	}
	return fmt.Sprintf("Activation(%d)", uint8(a))
}

// Gelu returns GeluExact, which uses erf, if exact is true, otherwise GeluTanh.
func Gelu(exact bool) Activation {
	if exact {
		return GeluExact
	}
	return GeluTanh
}

// Activate computes activations and their gradients.
type Activate[T Float] struct {
	task activateTask[T]
	path path
}

// Forward computes y = f(x), element by element. y may be x.
func (k *Activate[T]) Forward(p *Pool, y, x []T, f Activation) {
	k.task = activateTask[T]{y: y[:len(x)], x: x, f: f, path: pathOf[T](k.path)}
	p.Do(len(x), &k.task)
}

// Backward computes dx = dy f'(x), element by element. dx may be dy or x.
func (k *Activate[T]) Backward(p *Pool, dx, dy, x []T, f Activation) {
	k.task = activateTask[T]{y: dx[:len(x)], dy: dy[:len(x)], x: x, f: f, path: pathOf[T](k.path)}
	p.Do(len(x), &k.task)
}

// activateTask computes y = f(x) or, if there is a dy, y = dy f'(x).
type activateTask[T Float] struct {
	y, dy, x []T
	f        Activation
	path     path
}

func (t *activateTask[T]) Part(_, lo, hi int) {
	if t.dy == nil {
		activate(t.path, t.f, t.y[lo:hi], t.x[lo:hi])
	} else {
		activateGradient(t.path, t.f, t.y[lo:hi], t.dy[lo:hi], t.x[lo:hi])
	}
}

// activate computes y = f(x). y may be x.
func activate[T Float](p path, f Activation, y, x []T) {
	switch f {
	case GeluTanh:
		geluTanh(p, y, x)
	case GeluExact:
		geluExact(p, y, x)
	case ReLUSquared:
		reluSquared(p, y, x)
	case ReLU:
		relu(p, y, x)
	}
}

// activateGradient computes dx = dy f'(x). dx may be dy or x.
func activateGradient[T Float](p path, f Activation, dx, dy, x []T) {
	switch f {
	case GeluTanh:
		geluTanhGradient(p, dx, dy, x)
	case GeluExact:
		geluExactGradient(p, dx, dy, x)
	case ReLUSquared:
		reluSquaredGradient(p, dx, dy, x)
	case ReLU:
		reluGradient(p, dx, dy, x)
	}
}

// reluSquaredPortable computes y = max(x, 0)^2; NaN gives NaN.
func reluSquaredPortable[T Float](y, x []T) {
	y = y[:len(x)]
	for i, v := range x {
		v = max(v, 0)
		y[i] = v * v
	}
}

// reluSquaredGradientPortable computes dx = 2 dy max(x, 0).
func reluSquaredGradientPortable[T Float](dx, dy, x []T) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	for i, v := range x {
		dx[i] = dy[i] * (2 * max(v, 0))
	}
}

// reluPortable computes y = max(x, 0); NaN gives NaN.
func reluPortable[T Float](y, x []T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] = max(v, 0)
	}
}

// reluGradientPortable computes dx = dy where x > 0, else 0; NaN gives NaN.
func reluGradientPortable[T Float](dx, dy, x []T) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	for i, v := range x {
		switch {
		case v > 0:
			dx[i] = dy[i]
		case v <= 0:
			dx[i] = 0
		default:
			dx[i] = v
		}
	}
}
