package layers

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
)

// dense is a dense feed-forward, y = W2 gelu(W1 u + b1) + b2.
type dense struct {
	b              *graph.Builder
	name           string
	hidden         int
	w1, w2, b1, b2 *gorgonia.Node
	exact          bool
}

// GELUConfig is the design of a GELU.
type GELUConfig struct {
	Hidden int `yaml:"hidden" default:"required, or preset" max:"1048576" help:"width of the hidden layer"`
}

// Name is "gelu".
func (GELUConfig) Name() string { return "gelu" }

// Card describes a dense feed-forward.
func (GELUConfig) Card() Card {
	return Card{
		Title:    "Dense feed-forward",
		Equation: "y = W2 gelu(W1 u + b1) + b2",
		Source:   "Vaswani et al. 2017, with the activation of Hendrycks and Gimpel 2016, arXiv 1606.08415",
		Use:      "The baseline: every token uses every neuron.",
	}
}

// Defaults changes nothing.
func (c GELUConfig) Defaults() FeedForwardDesign { return c }

// Check wants a hidden layer.
func (c GELUConfig) Check() error { return CheckSizes(Size{"hidden", c.Hidden}) }

// Shape is one hidden layer.
func (c GELUConfig) Shape() FeedForwardShape { return FeedForwardShape{Hidden: c.Hidden} }

// Cost is that of the two maps; the hidden layer is kept before and after GELU.
func (c GELUConfig) Cost(s FeedForwardSizes) Cost {
	in, hidden := float64(s.In), float64(c.Hidden)
	return LinearCost(in, hidden, s.Bias).Plus(LinearCost(hidden, in, s.Bias)).Plus(ActivationCost(2 * hidden))
}

// New is newGELU.
func (c GELUConfig) New(b *graph.Builder, name string, s FeedForwardSizes) FeedForward {
	return newGELU(b, name, c, s)
}

// newGELU makes a feed-forward with the parameters name.w1 [In, Hidden] and name.w2
// [Hidden, In].
func newGELU(b *graph.Builder, name string, c GELUConfig, s FeedForwardSizes) *dense {
	f := &dense{b: b, name: name, hidden: c.Hidden, exact: s.ExactGelu,
		w1: b.Param(s.Init.Hidden(name+".w1", s.In, s.WidthRatio, s.In, c.Hidden)),
		w2: b.Param(s.lastWeights()(name+".w2", c.Hidden, s.HiddenRatio, c.Hidden, s.In)),
	}
	if s.Bias {
		f.b1 = b.Param(Zero(name+".w1_bias", c.Hidden))
		f.b2 = b.Param(Zero(name+".w2_bias", s.In))
	}
	return f
}

// Units are the neurons, with their rows of W2.
func (f *dense) Units() Units {
	u := Units{Part: "neuron", Count: f.hidden, Activation: f.name + ".activations", Weight: f.w2.Name()}
	if f.b2 != nil {
		u.Bias = f.b2.Name()
	}
	return u
}

// Forward maps u [T, ...In] to y [T, In].
func (f *dense) Forward(u *gorgonia.Node) *gorgonia.Node {
	a := f.activate(f.b.Hook(f.name+".in", u, inputAxes(u)...))                                     // [T, Hidden]
	return f.b.Hook(f.name+".out", linear.Map(f.b, a, f.w2, linear.Options{Bias: f.b2}), "feature") // [T, In]
}

// activate is gelu(W1 u + b1), in one pass unless there is a bias or a hook.
func (f *dense) activate(u *gorgonia.Node) *gorgonia.Node {
	hidden, activations := f.name+".hidden", f.name+".activations"
	if f.b1 == nil && !f.b.Hooked(hidden) && !f.b.Hooked(activations) {
		_, a := linear.MapGelu(f.b, u, f.w1, f.exact)
		return a
	}
	h := f.b.Hook(hidden, linear.Map(f.b, u, f.w1, linear.Options{Bias: f.b1}), "neuron") // [T, Hidden]
	return f.b.Hook(activations, elementwise.Gelu(f.b, h, f.exact), "neuron")
}

// inputAxes names the axes of a feed-forward's input: R vectors of Dv entries, or D.
func inputAxes(u *gorgonia.Node) []string {
	if u != nil && u.Shape().Dims() == 3 {
		return []string{"rank", "value"}
	}
	return []string{"feature"}
}
