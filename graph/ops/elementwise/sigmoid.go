package elementwise

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// sigmoid computes the logistic function.
type sigmoid struct{}

// Sigmoid computes the logistic function 1/(1 + exp(-x)), elementwise.
func Sigmoid(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node { return b.Apply(sigmoid{}, x) }

func (sigmoid) String() string { return "Sigmoid" }

func (sigmoid) Infer(in []graph.Signature) (graph.Signature, error) { return in[0], nil }

func (sigmoid) InPlace(int) bool { return true }

func (sigmoid) SameType() bool { return true }

func (sigmoid) VJP(d *graph.Derivative) {
	d.Make(0, sigmoidGrad{}, d.Gradient(), d.Output())
}

func (k sigmoid) Run(c *graph.Call) {
	graph.Dispatch(c, k, runSigmoid, runSigmoid)
}

func runSigmoid[T kernel.Float](_ sigmoid, c graph.CallOf[T]) {
	graph.State[kernel.Sigmoid[T]](c).Forward(c.Pool(), c.Out(), c.In(0))
}

// sigmoidGrad computes dx = dy y (1 - y). Inputs: dy, y.
type sigmoidGrad struct{ graph.NoGradient }

func (sigmoidGrad) String() string { return "GradX of Sigmoid" }

func (sigmoidGrad) InPlace(int) bool { return true }

func (k sigmoidGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runSigmoidGrad, runSigmoidGrad)
}

func runSigmoidGrad[T kernel.Float](_ sigmoidGrad, c graph.CallOf[T]) {
	graph.State[kernel.Sigmoid[T]](c).Backward(c.Pool(), c.Out(), c.In(0), c.In(1))
}
