// Package elementwise has the ops that treat each entry by itself: activations, gates, dropout,
// products with parameters and weighted sums.
package elementwise

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// GELU is the feed-forward's nonlinearity.
type GELU struct{ Exact bool }

// Gelu is the Gaussian error linear unit (Hendrycks & Gimpel 2016), elementwise:
//
//	tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
//	exact:     x Phi(x) = 0.5 x (1 + erf(x / sqrt 2))
func Gelu(b *graph.Builder, x *gorgonia.Node, exact bool) *gorgonia.Node {
	return b.Apply(GELU{exact}, x)
}

// String is the name and the form.
func (k GELU) String() string { return fmt.Sprintf("Gelu(exact=%t)", k.Exact) }

// Infer wants floats of any shape.
func (k GELU) Infer(in []graph.Signature) (graph.Signature, error) {
	return in[0], graph.WantFloats(in)
}

// InPlace is true.
func (k GELU) InPlace(int) bool { return true }

// VJP is dy gelu'(x).
func (k GELU) VJP(d *graph.Derivative) {
	if d.Wants(0) {
		d.Set(0, d.Apply(geluGrad{of: k}, d.Gradient(), d.Input(0)))
	}
}

// Run computes it on the CPU.
func (k GELU) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runGelu[float32], runGelu[float64])
}

func runGelu[T kernel.Float](k GELU, c *graph.Call) error {
	graph.State[kernel.Gelu[T]](c).Forward(c.Pool(), graph.Out[T](c), graph.In[T](c, 0), k.Exact)
	return nil
}

// geluGrad is dx = dy gelu'(x). Inputs: dy, x.
type geluGrad struct {
	graph.NoGradient
	of GELU
}

func (k geluGrad) String() string { return "GradX of " + k.of.String() }

func (k geluGrad) Infer(in []graph.Signature) (graph.Signature, error) {
	return in[0], graph.WantFloats(in)
}

func (k geluGrad) InPlace(int) bool { return true }

func (k geluGrad) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runGeluGrad[float32], runGeluGrad[float64])
}

func runGeluGrad[T kernel.Float](k geluGrad, c *graph.Call) error {
	graph.State[kernel.Gelu[T]](c).Backward(c.Pool(), graph.Out[T](c), graph.In[T](c, 0), graph.In[T](c, 1), k.of.Exact)
	return nil
}
