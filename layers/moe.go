package layers

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
)

// routerStd is the standard deviation that a router starts with, whatever its fan-in: the
// probabilities are nearly even at first.
const routerStd = 0.02

// MoE is a mixture of feed-forward experts, of which each token uses a few (see
// graph.Builder.MoE): y = sum over the chosen experts i of g_i W2_i gelu(W1_i u + b1_i) + b2_i.
type MoE struct {
	b                      *graph.Builder
	name                   string
	router, w1, w2, b1, b2 *gorgonia.Node
	topK                   int
	exact                  bool
	last                   graph.MoEOutput
}

// MoEConfig describes one block's mixture.
type MoEConfig struct {
	In, Hidden int     // widths of u (and y) and of one expert's hidden layer
	Experts    int     // E
	TopK       int     // experts a token
	Bias       bool    // b1 and b2
	ExactGelu  bool    // by erf instead of tanh
	Ratio1     float64 // muP: In over its base
	Ratio2     float64 // muP: Hidden over its base
	Writes     bool    // y is added to the stream as it is: w2 starts smaller (Init.Output)
}

// NewMoE makes a mixture with the parameters name.router [In, Experts], name.w1 [Experts,
// In, Hidden] and name.w2 [Experts, Hidden, In]. Each expert starts as a FeedForward does.
func NewMoE(b *graph.Builder, name string, c MoEConfig, init Init) *MoE {
	second := init.Hidden
	if c.Writes {
		second = init.Output
	}
	m := &MoE{b: b, name: name, topK: c.TopK, exact: c.ExactGelu,
		router: b.Param(graph.ParamSpec{Name: name + ".router", Shape: []int{c.In, c.Experts}, Init: graph.Normal(routerStd), Decay: true, WidthRatio: c.Ratio1}),
		w1:     b.Param(init.Hidden(name+".w1", c.In, c.Ratio1, c.Experts, c.In, c.Hidden)),
		w2:     b.Param(second(name+".w2", c.Hidden, c.Ratio2, c.Experts, c.Hidden, c.In)),
	}
	if c.Bias {
		m.b1 = b.Param(Zero(name+".w1_bias", c.Experts, c.Hidden))
		m.b2 = b.Param(Zero(name+".w2_bias", c.Experts, c.In))
	}
	return m
}

// Forward maps u [T, ...In] to y [T, In]. Where somebody asks for them, the gates g_ti exist
// as name.gates [T, Experts], and the terms of y as name.experts [T, Experts, In], each
// expert's output times its gate; both are 0 for experts that a token does not go to. What
// a hook leaves of gates is read for the chosen experts alone.
func (m *MoE) Forward(u *gorgonia.Node) *gorgonia.Node {
	m.last = m.b.MoE(m.b.Hook(m.name+".in", u, inputAxes(u)...), m.router, m.w1, m.w2,
		graph.MoEOptions{TopK: m.topK, ExactGelu: m.exact, B1: m.b1, B2: m.b2,
			Gates: m.hook("gates", "expert"), Terms: m.hook("experts", "expert", "feature")})
	return m.b.Hook(m.name+".out", m.last.Y, "feature") // [T, In]
}

// hook names what graph.MoE shows, or is nil where nobody asks for it.
func (m *MoE) hook(what string, axes ...string) func(*gorgonia.Node) *gorgonia.Node {
	name := m.name + "." + what
	if !m.b.Hooked(name) {
		return nil
	}
	return func(x *gorgonia.Node) *gorgonia.Node { return m.b.Hook(name, x, axes...) }
}

// Balance is the load-balancing loss of the last Forward, a scalar: 1 where all experts
// have the same load. The node exists from the first call on, and must then be read.
func (m *MoE) Balance() *gorgonia.Node { return m.last.Balance() }

// RouterZ is the router's z-loss of the last Forward, a scalar; see Balance.
func (m *MoE) RouterZ() *gorgonia.Node { return m.last.RouterZ() }

// Counts is the number of assignments of each expert in the last Forward, [Experts] Int32;
// see Balance.
func (m *MoE) Counts() *gorgonia.Node { return m.last.Counts() }
