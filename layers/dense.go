package layers

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
)

// dense is a dense feed-forward, y = W2 a + b2. The activations a are f(W1 u + b1), or made from
// two maps of u.
type dense struct {
	b              *graph.Builder
	name           string
	hidden         int
	w1, w2, b1, b2 *gorgonia.Node
	activate       func(u *gorgonia.Node) *gorgonia.Node
}

// newDense makes a feed-forward with the parameters name.w1 [In, Hidden] and name.w2
// [Hidden, In].
func newDense(b *graph.Builder, name string, hidden int, f kernel.Activation, s FeedForwardSizes) *dense {
	d := &dense{b: b, name: name, hidden: hidden,
		w1: b.Param(s.Init.Hidden(name+".w1", s.In, s.WidthRatio, s.In, hidden)),
		w2: b.Param(s.LastWeights()(name+".w2", hidden, s.HiddenRatio, hidden, s.In)),
	}
	if s.Bias {
		d.b1 = b.Param(Zero(name+".w1_bias", hidden))
		d.b2 = b.Param(Zero(name+".w2_bias", s.In))
	}
	d.activate = func(u *gorgonia.Node) *gorgonia.Node { return d.activated(u, f) }
	return d
}

// denseCost returns the cost of the two maps and of keeping the hidden layer before and after the
// activation.
func denseCost(hidden int, s FeedForwardSizes) Cost {
	in, out := float64(s.In), float64(hidden)
	return LinearCost(in, out, s.Bias).Plus(LinearCost(out, in, s.Bias), ActivationCost(2*out))
}

// Units describes the neurons, with their rows of W2.
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

// activated computes f(W1 u + b1), in one pass unless there is a bias or a hook.
func (f *dense) activated(u *gorgonia.Node, by kernel.Activation) *gorgonia.Node {
	hidden, activations := f.name+".hidden", f.name+".activations"
	if f.b1 == nil && !f.b.Hooked(hidden) && !f.b.Hooked(activations) {
		_, a := linear.MapActivated(f.b, u, f.w1, by)
		return a
	}
	h := f.b.Hook(hidden, linear.Map(f.b, u, f.w1, linear.Options{Bias: f.b1}), "neuron") // [T, Hidden]
	return f.b.Hook(activations, elementwise.Activate(f.b, h, by), "neuron")
}

// inputAxes names the axes of a feed-forward's input: R vectors of Dv entries, or D.
func inputAxes(u *gorgonia.Node) []string {
	if u != nil && u.Shape().Dims() == 3 {
		return []string{"rank", "value"}
	}
	return []string{"feature"}
}
