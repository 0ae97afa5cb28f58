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

func (sigmoid) Run(c *graph.Call) {
	graph.Elementwise(c, kernel.Sigmoid[float32], kernel.Sigmoid[float64])
}

func (sigmoid) Launch(c *graph.DeviceCall) { c.Elementwise("sigmoid_map") }

// sigmoidGrad computes dx = dy y (1 - y). Inputs: dy, y.
type sigmoidGrad struct{ graph.NoGradient }

func (sigmoidGrad) String() string { return "GradX of Sigmoid" }

func (sigmoidGrad) InPlace(int) bool { return true }

func (sigmoidGrad) Run(c *graph.Call) {
	graph.Elementwise(c, kernel.SigmoidGradient[float32], kernel.SigmoidGradient[float64])
}

func (sigmoidGrad) Launch(c *graph.DeviceCall) { c.Elementwise("sigmoid_grad") }
