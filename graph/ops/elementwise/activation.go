// Package elementwise has ops that compute each entry separately: activations, gates, dropout,
// products with parameters and weighted sums.
package elementwise

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// Activation applies a feed-forward's nonlinearity.
type Activation struct{ Function kernel.Activation }

// Gelu is the Gaussian error linear unit (Hendrycks & Gimpel 2016), elementwise:
//
//	tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
//	exact:     x Phi(x) = 0.5 x (1 + erf(x / sqrt 2))
func Gelu(b *graph.Builder, x *gorgonia.Node, exact bool) *gorgonia.Node {
	return Activate(b, x, kernel.Gelu(exact))
}

// Activate applies an activation elementwise: y = f(x).
func Activate(b *graph.Builder, x *gorgonia.Node, f kernel.Activation) *gorgonia.Node {
	return b.Apply(Activation{f}, x)
}

// String returns the function's name.
func (k Activation) String() string { return k.Function.String() }

// Infer accepts floats of any shape.
func (k Activation) Infer(in []graph.Signature) (graph.Signature, error) { return in[0], nil }

// InPlace returns true.
func (k Activation) InPlace(int) bool { return true }

// Again applies the function again.
func (k Activation) Again(b *graph.Builder, inputs gorgonia.Nodes) *gorgonia.Node {
	return b.Apply(k, inputs...)
}

// VJP makes dx = dy f'(x).
func (k Activation) VJP(d *graph.Derivative) {
	d.Make(0, activationGrad{of: k}, d.Gradient(), d.Input(0))
}

// Run runs the op on the CPU.
func (k Activation) Run(c *graph.Call) {
	graph.Elementwise(c, kernel.Activate[float32], kernel.Activate[float64], float64(k.Function))
}

// Launch runs the op on a device.
func (k Activation) Launch(c *graph.DeviceCall) {
	c.Elementwise("activation", cuda.Int(int(k.Function)))
}

// activationGrad computes dx = dy f'(x). Inputs: dy, x.
type activationGrad struct {
	graph.NoGradient
	of Activation
}

func (k activationGrad) String() string { return "GradX of " + k.of.String() }

func (k activationGrad) InPlace(int) bool { return true }

func (k activationGrad) Run(c *graph.Call) {
	graph.Elementwise(c, kernel.ActivateGradient[float32], kernel.ActivateGradient[float64], float64(k.of.Function))
}

func (k activationGrad) Launch(c *graph.DeviceCall) {
	c.Elementwise("activation_grad", cuda.Int(int(k.of.Function)))
}
