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

// Activate computes y = f(x). Out: y, which may be x. In: x. Numbers: the Activation f.
func Activate[T Float](x Elements[T]) {
	activate(x.path, Activation(x.Numbers[0]), x.Out[0], x.In[0])
}

// ActivateGradient computes dx = dy f'(x). Out: dx, which may be either input. In: dy, x. Numbers:
// the Activation f.
func ActivateGradient[T Float](x Elements[T]) {
	activateGradient(x.path, Activation(x.Numbers[0]), x.Out[0], x.In[0], x.In[1])
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
