package graph

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// sigmoid is the logistic function.
type sigmoid struct{}

// Sigmoid is the logistic function 1/(1 + exp(-x)), elementwise.
func (b *Builder) Sigmoid(x *gorgonia.Node) *gorgonia.Node { return b.Apply(sigmoid{}, x) }

func (sigmoid) String() string { return "Sigmoid" }

func (sigmoid) Infer(in []Signature) (Signature, error) { return in[0], wantFloats(in) }

func (sigmoid) Differentiable(int) bool { return true }

func (sigmoid) InPlace(int) bool { return true }

func (sigmoid) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, d.b.Apply(sigmoidGrad{}, d.Gradient(), d.Output()))
	}
}

func (k sigmoid) Run(c *Call) error {
	if c.Double() {
		return runSigmoid[float64](c)
	}
	return runSigmoid[float32](c)
}

func runSigmoid[T kernel.Float](c *Call) error {
	State[kernel.Sigmoid[T]](c).Forward(c.Pool(), Out[T](c), In[T](c, 0))
	return nil
}

// sigmoidGrad is dx = dy y (1 - y). Inputs: dy, y.
type sigmoidGrad struct{ sigmoid }

func (sigmoidGrad) String() string { return "GradX of Sigmoid" }

func (sigmoidGrad) Differentiable(int) bool { return false }

func (sigmoidGrad) VJP(*Derivative) {}

func (k sigmoidGrad) Run(c *Call) error {
	if c.Double() {
		return runSigmoidGrad[float64](c)
	}
	return runSigmoidGrad[float32](c)
}

func runSigmoidGrad[T kernel.Float](c *Call) error {
	State[kernel.Sigmoid[T]](c).Backward(c.Pool(), Out[T](c), In[T](c, 0), In[T](c, 1))
	return nil
}
