package graph

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// sigmoid is the logistic function.
type sigmoid struct{}

// Sigmoid is the logistic function 1/(1 + exp(-x)), elementwise.
func (b *Builder) Sigmoid(x *gorgonia.Node) *gorgonia.Node { return b.apply(sigmoid{}, x) }

func (sigmoid) String() string { return "Sigmoid" }

func (sigmoid) Infer(in []Signature) (Signature, error) { return in[0], wantFloats(in) }

func (sigmoid) Differentiable(int) bool { return true }

func (sigmoid) InPlace(int) bool { return true }

func (sigmoid) VJP(d *Derivative) {
	if d.wanted[0] {
		d.set(0, d.b.apply(sigmoidGrad{}, d.grad, d.output()))
	}
}

func (k sigmoid) Run(c *Call) error {
	if c.double() {
		return runSigmoid[float64](c)
	}
	return runSigmoid[float32](c)
}

func runSigmoid[T kernel.Float](c *Call) error {
	state[kernel.Sigmoid[T]](c).Forward(c.pool(), out[T](c), in[T](c, 0))
	return nil
}

// sigmoidGrad is dx = dy y (1 - y). Inputs: dy, y.
type sigmoidGrad struct{ sigmoid }

func (sigmoidGrad) String() string { return "GradX of Sigmoid" }

func (sigmoidGrad) Differentiable(int) bool { return false }

func (sigmoidGrad) VJP(*Derivative) {}

func (k sigmoidGrad) Run(c *Call) error {
	if c.double() {
		return runSigmoidGrad[float64](c)
	}
	return runSigmoidGrad[float32](c)
}

func runSigmoidGrad[T kernel.Float](c *Call) error {
	state[kernel.Sigmoid[T]](c).Backward(c.pool(), out[T](c), in[T](c, 0), in[T](c, 1))
	return nil
}
