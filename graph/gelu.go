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
	return b.Apply(gelu{exact}, x)
}

func (k gelu) String() string { return fmt.Sprintf("Gelu(exact=%t)", k.exact) }

func (k gelu) Infer(in []Signature) (Signature, error) { return in[0], WantFloats(in) }

func (k gelu) InPlace(int) bool { return true }

func (k gelu) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, d.Apply(geluGrad{of: k}, d.Gradient(), d.Input(0)))
	}
}

func (k gelu) Run(c *Call) error {
	return Dispatch(c, k, runGelu[float32], runGelu[float64])
}

func runGelu[T kernel.Float](k gelu, c *Call) error {
	State[kernel.Gelu[T]](c).Forward(c.Pool(), Out[T](c), In[T](c, 0), k.exact)
	return nil
}

// geluGrad is dx = dy gelu'(x). Inputs: dy, x.
type geluGrad struct {
	NoGradient
	of gelu
}

func (k geluGrad) String() string { return "GradX of " + k.of.String() }

func (k geluGrad) Infer(in []Signature) (Signature, error) { return in[0], WantFloats(in) }

func (k geluGrad) InPlace(int) bool { return true }

func (k geluGrad) Run(c *Call) error {
	return Dispatch(c, k, runGeluGrad[float32], runGeluGrad[float64])
}

func runGeluGrad[T kernel.Float](k geluGrad, c *Call) error {
	State[kernel.Gelu[T]](c).Backward(c.Pool(), Out[T](c), In[T](c, 0), In[T](c, 1), k.of.exact)
	return nil
}
