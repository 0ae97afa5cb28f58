package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// gelu is the feed-forward's nonlinearity.
type gelu struct{ exact bool }

// Gelu is the Gaussian error linear unit (Hendrycks & Gimpel 2016), elementwise:
//
//	tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
//	exact:     x Phi(x) = 0.5 x (1 + erf(x / sqrt 2))
func (b *Builder) Gelu(x *gorgonia.Node, exact bool) *gorgonia.Node {
	return b.apply(gelu{exact}, x)
}

func (k gelu) String() string { return fmt.Sprintf("Gelu(exact=%t)", k.exact) }

func (k gelu) signature(in []signature) (signature, error) { return in[0], wantFloats(in) }

func (k gelu) differentiable(int) bool { return true }

func (k gelu) inPlace(int) bool { return true }

func (k gelu) diff(d *derivative) {
	if d.wanted[0] {
		d.set(0, d.b.apply(geluGrad{k}, d.grad, d.inputs(0)))
	}
}

func (k gelu) run(c *call) error {
	if c.double() {
		return runGelu[float64](k, c)
	}
	return runGelu[float32](k, c)
}

func runGelu[T kernel.Float](k gelu, c *call) error {
	state[kernel.Gelu[T]](c).Forward(c.pool(), out[T](c), in[T](c, 0), k.exact)
	return nil
}

// geluGrad is dx = dy gelu'(x). Inputs: dy, x.
type geluGrad struct{ gelu }

func (k geluGrad) String() string { return "GradX of " + k.gelu.String() }

func (k geluGrad) differentiable(int) bool { return false }

func (k geluGrad) diff(*derivative) {}

func (k geluGrad) run(c *call) error {
	if c.double() {
		return runGeluGrad[float64](k, c)
	}
	return runGeluGrad[float32](k, c)
}

func runGeluGrad[T kernel.Float](k geluGrad, c *call) error {
	state[kernel.Gelu[T]](c).Backward(c.pool(), out[T](c), in[T](c, 0), in[T](c, 1), k.exact)
	return nil
}
