package layers

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
)

// FeedForward is y = W2 gelu(W1 u + b1) + b2.
type FeedForward struct {
	b              *graph.Builder
	name           string
	w1, w2, b1, b2 *gorgonia.Node
	exact          bool
}

// FeedForwardConfig describes one block's feed-forward.
type FeedForwardConfig struct {
	In, Hidden int     // widths of u (and y) and of the hidden layer
	Bias       bool    // b1 and b2
	ExactGelu  bool    // by erf instead of tanh
	Ratio1     float64 // muP: In over its base
	Ratio2     float64 // muP: Hidden over its base
	Writes     bool    // y is added to the stream as it is: w2 starts smaller (Init.Output)
}

// NewFeedForward makes a feed-forward with the parameters name.w1 [In, Hidden] and
// name.w2 [Hidden, In].
func NewFeedForward(b *graph.Builder, name string, c FeedForwardConfig, init Init) *FeedForward {
	second := init.Hidden
	if c.Writes {
		second = init.Output
	}
	f := &FeedForward{b: b, name: name, exact: c.ExactGelu,
		w1: b.Param(init.Hidden(name+".w1", c.In, c.Ratio1, c.In, c.Hidden)),
		w2: b.Param(second(name+".w2", c.Hidden, c.Ratio2, c.Hidden, c.In)),
	}
	if c.Bias {
		f.b1 = b.Param(Zero(name+".w1_bias", c.Hidden))
		f.b2 = b.Param(Zero(name+".w2_bias", c.In))
	}
	return f
}

// Forward maps u [T, ...In] to y [T, In].
func (f *FeedForward) Forward(u *gorgonia.Node) *gorgonia.Node {
	a := f.activate(f.b.Hook(f.name+".in", u, inputAxes(u)...))                                     // [T, Hidden]
	return f.b.Hook(f.name+".out", f.b.Linear(a, f.w2, graph.LinearOptions{Bias: f.b2}), "feature") // [T, In]
}

// activate is gelu(W1 u + b1), in one pass unless there is a bias or somebody looks.
func (f *FeedForward) activate(u *gorgonia.Node) *gorgonia.Node {
	hidden, activations := f.name+".hidden", f.name+".activations"
	if f.b1 == nil && !f.b.Hooked(hidden) && !f.b.Hooked(activations) {
		_, a := f.b.LinearGelu(u, f.w1, f.exact)
		return a
	}
	h := f.b.Hook(hidden, f.b.Linear(u, f.w1, graph.LinearOptions{Bias: f.b1}), "neuron") // [T, Hidden]
	return f.b.Hook(activations, f.b.Gelu(h, f.exact), "neuron")
}

// inputAxes names the axes of a feed-forward's input: R vectors of Dv entries, or D.
func inputAxes(u *gorgonia.Node) []string {
	if u != nil && u.Shape().Dims() == 3 {
		return []string{"rank", "value"}
	}
	return []string{"feature"}
}
