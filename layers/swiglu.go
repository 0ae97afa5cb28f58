package layers

import (
	"cmp"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
)

// SwiGLUConfig is the design of a SwiGLU.
type SwiGLUConfig struct {
	Hidden int    `yaml:"hidden" default:"required, or preset" max:"1048576" help:"width of the hidden layer; 2/3 of a gelu's has as many parameters"`
	Gate   string `yaml:"gate" default:"silu" added:"\"\"" help:"what the gate passes through: silu, or gelu in the form of model.gelu (GeGLU)"`
}

// The values of SwiGLUConfig.Gate.
const (
	GateSiLU = "silu"
	GateGELU = "gelu"
)

// Defaults replaces an explicit "silu" by "", so that equal configs have equal values.
func (c SwiGLUConfig) Defaults() FeedForwardDesign {
	if c.Gate == GateSiLU {
		c.Gate = ""
	}
	return c
}

// Name returns "swiglu".
func (SwiGLUConfig) Name() string { return "swiglu" }

// Card describes a SwiGLU.
func (SwiGLUConfig) Card() Card {
	return Card{
		Title: "SwiGLU",
		Equation: "y = W2 (silu(W1 u + b1) ⊙ (W3 u + b3)) + b2\n" +
			"silu(x) = x sigmoid(x), or gelu with gate: gelu",
		Source: "Shazeer 2020, arXiv 2002.05202; Touvron et al. 2023 (Llama), arXiv 2302.13971",
		Use: "What most open models use today in a GELU's place: each neuron's value has a gate of its own. A third matrix, so a hidden layer of 2/3 the " +
			"width for the same parameters and FLOPs.",
	}
}

// Check returns an error unless the hidden layer has at least one neuron and the gate is known.
func (c SwiGLUConfig) Check() error {
	return cmp.Or(CheckSize("hidden", c.Hidden), CheckChoice("gate", cmp.Or(c.Gate, GateSiLU), GateSiLU, GateGELU))
}

// Shape returns the shape of one hidden layer.
func (c SwiGLUConfig) Shape() FeedForwardShape { return FeedForwardShape{Hidden: c.Hidden} }

// Cost returns the cost of the three maps and of keeping gate, value and their product; a gate of
// GELU is kept after GELU, too.
func (c SwiGLUConfig) Cost(s FeedForwardSizes) Cost {
	in, hidden := float64(s.In), float64(c.Hidden)
	kept := 3 * hidden
	if c.Gate == GateGELU {
		kept += hidden
	}
	return LinearCost(in, hidden, s.Bias).Times(2).Plus(LinearCost(hidden, in, s.Bias), ActivationCost(kept))
}

// New makes the parameters name.w1 and name.w3 [In, Hidden] and name.w2 [Hidden, In].
func (c SwiGLUConfig) New(b *graph.Builder, name string, s FeedForwardSizes) FeedForward {
	f := &swiGLU{dense: dense{b: b, name: name, hidden: c.Hidden}}
	f.w1 = b.Param(s.Init.Hidden(name+".w1", s.In, s.WidthRatio, s.In, c.Hidden))
	f.w3 = b.Param(s.Init.Hidden(name+".w3", s.In, s.WidthRatio, s.In, c.Hidden))
	f.w2 = b.Param(s.LastWeights()(name+".w2", c.Hidden, s.HiddenRatio, c.Hidden, s.In))
	if s.Bias {
		f.b1 = b.Param(Zero(name+".w1_bias", c.Hidden))
		f.b3 = b.Param(Zero(name+".w3_bias", c.Hidden))
		f.b2 = b.Param(Zero(name+".w2_bias", s.In))
	}
	f.dense.activate, f.gelu = f.gated, kernel.Gelu(s.ExactGelu)
	if c.Gate == GateGELU {
		f.dense.activate = f.geluGated
	}
	return f
}

// swiGLU is a gated feed-forward, y = W2 (silu(W1 u + b1) ⊙ (W3 u + b3)) + b2.
type swiGLU struct {
	dense
	w3, b3 *gorgonia.Node
	gelu   kernel.Activation
}

// gated computes silu(W1 u + b1) ⊙ (W3 u + b3). The second map also computes the product, unless
// there are biases or a hook.
func (f *swiGLU) gated(u *gorgonia.Node) *gorgonia.Node {
	gate, value, activations := f.name+".gate", f.name+".value", f.name+".activations"
	if f.b1 == nil && !f.b.Hooked(gate) && !f.b.Hooked(value) && !f.b.Hooked(activations) {
		_, _, a := linear.MapSwiGLU(f.b, u, f.w1, f.w3)
		return a
	}
	g, v := f.maps(u)
	return f.b.Hook(activations, elementwise.SwiGLU(f.b, g, v), "neuron")
}

// geluGated computes gelu(W1 u + b1) ⊙ (W3 u + b3).
func (f *swiGLU) geluGated(u *gorgonia.Node) *gorgonia.Node {
	g, v := f.maps(u)
	return f.b.Hook(f.name+".activations", elementwise.Product(f.b, elementwise.Activate(f.b, g, f.gelu), v), "neuron")
}

// maps returns W1 u + b1 and W3 u + b3.
func (f *swiGLU) maps(u *gorgonia.Node) (gate, value *gorgonia.Node) {
	gate = f.b.Hook(f.name+".gate", linear.Map(f.b, u, f.w1, linear.Options{Bias: f.b1}), "neuron")   // [T, Hidden]
	value = f.b.Hook(f.name+".value", linear.Map(f.b, u, f.w3, linear.Options{Bias: f.b3}), "neuron") // [T, Hidden]
	return gate, value
}
