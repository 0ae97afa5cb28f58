package main

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/layers"
)

// Bilinear is our feed-forward: gated, without an activation function.
type Bilinear struct {
	Hidden int `yaml:"hidden" default:"required, or preset" max:"1048576" help:"width of the hidden layer; 2/3 of a gelu's has as many parameters"`
}

// Name returns the kind that model.feedforward names.
func (Bilinear) Name() string { return "bilinear-example" }

// Card describes Bilinear.
func (Bilinear) Card() layers.Card {
	return layers.Card{
		Title:    "Bilinear",
		Equation: "y = W2 (W1 u ⊙ W3 u)",
		Source:   "Shazeer 2020, arXiv 2002.05202, section 2",
		Use:      "A feed-forward whose outputs are sums of products of two inputs: its weights alone say what it computes.",
	}
}

// Check refuses a hidden layer without units.
func (c Bilinear) Check() error { return layers.CheckSize("hidden", c.Hidden) }

// Shape returns a single hidden layer.
func (c Bilinear) Shape() layers.FeedForwardShape { return layers.FeedForwardShape{Hidden: c.Hidden} }

// Cost counts the three maps; both factors and their product are kept for the backward pass.
func (c Bilinear) Cost(s layers.FeedForwardSizes) layers.Cost {
	in, hidden := float64(s.In), float64(c.Hidden)
	return layers.LinearCost(in, hidden, false).Times(2).Plus(layers.LinearCost(hidden, in, false), layers.ActivationCost(3*hidden))
}

// New makes the parameters name.w1 and name.w3 [In, Hidden] and name.w2 [Hidden, In].
func (c Bilinear) New(b *graph.Builder, name string, s layers.FeedForwardSizes) layers.FeedForward {
	return &bilinear{b: b, name: name, hidden: c.Hidden,
		w1: b.Param(s.Init.Hidden(name+".w1", s.In, s.WidthRatio, s.In, c.Hidden)),
		w3: b.Param(s.Init.Hidden(name+".w3", s.In, s.WidthRatio, s.In, c.Hidden)),
		w2: b.Param(s.LastWeights()(name+".w2", c.Hidden, s.HiddenRatio, c.Hidden, s.In)),
	}
}

type bilinear struct {
	b          *graph.Builder
	name       string
	hidden     int
	w1, w3, w2 *gorgonia.Node
}

// Forward maps u [T, In] to y [T, In].
func (f *bilinear) Forward(u *gorgonia.Node) *gorgonia.Node {
	u = f.b.Hook(f.name+".in", u, "feature")
	left, right := linear.Map(f.b, u, f.w1, linear.Options{}), linear.Map(f.b, u, f.w3, linear.Options{}) // [T, Hidden]
	a := f.b.Hook(f.name+".activations", f.b.Apply(product{}, left, right), "neuron")                     // [T, Hidden]
	return f.b.Hook(f.name+".out", linear.Map(f.b, a, f.w2, linear.Options{}), "feature")                 // [T, In]
}

// Units returns the neurons, with the rows of W2 by which they write.
func (f *bilinear) Units() layers.Units {
	return layers.Units{Part: "neuron", Count: f.hidden, Activation: f.name + ".activations", Weight: f.w2.Name()}
}

// product computes y = x ⊙ z for two tensors of the same shape.
type product struct{}

func (product) String() string { return "Product" }

func (product) Infer(in []graph.Signature) (graph.Signature, error) {
	if !in[0].Shape.Eq(in[1].Shape) {
		return graph.Signature{}, errors.Errorf("want two tensors of one shape, got %v and %v", in[0].Shape, in[1].Shape)
	}
	return in[0], nil
}

func (k product) Run(c *graph.Call) {
	graph.Dispatch(c, k, runProduct, runProduct)
}

func runProduct[T float32 | float64](_ product, c graph.CallOf[T]) {
	x, z, y := c.In(0), c.In(1), c.Out()
	for i := range y {
		y[i] = x[i] * z[i]
	}
}

// VJP makes dx = dy ⊙ z and dz = dy ⊙ x.
func (k product) VJP(d *graph.Derivative) {
	for i := range 2 {
		if d.Wants(i) {
			d.Make(i, k, d.Gradient(), d.Input(1-i))
		}
	}
}
