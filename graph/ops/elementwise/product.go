package elementwise

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// product multiplies two tensors. Inputs: the factors.
type product struct{}

// Product multiplies two tensors of one shape, x ⊙ y, on the CPU alone.
func Product(b *graph.Builder, x, y *gorgonia.Node) *gorgonia.Node {
	return b.Apply(product{}, x, y)
}

func (product) String() string { return "Product" }

func (product) Infer(in []graph.Signature) (graph.Signature, error) {
	return graph.SameShape(in, "x", "y")
}

func (product) InPlace(int) bool { return true }

// Again computes the product again.
func (k product) Again(b *graph.Builder, inputs gorgonia.Nodes) *gorgonia.Node {
	return b.Apply(k, inputs...)
}

func (product) VJP(d *graph.Derivative) {
	d.Make(0, productGrad{}, d.Gradient(), d.Input(1))
	d.Make(1, productGrad{}, d.Gradient(), d.Input(0))
}

func (product) Run(c *graph.Call) {
	graph.Elementwise(c, kernel.Product[float32], kernel.Product[float64])
}

// productGrad computes the gradient of one factor, dy ⊙ the other. Inputs: dy, the other.
type productGrad struct{ graph.NoGradient }

func (productGrad) String() string { return "GradFactor of Product" }

func (productGrad) InPlace(int) bool { return true }

func (productGrad) Run(c *graph.Call) { product{}.Run(c) }
