package layers

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/readwrite"
)

// NormConfig chooses the norm of a whole model.
type NormConfig struct {
	RMS  bool    // RMSNorm instead of LayerNorm
	Eps  float64 // added to the variance
	Bias bool    // LayerNorm's bias
}

// Norm is a LayerNorm or RMSNorm, taken jointly over the axes of its gain.
type Norm struct {
	b       *graph.Builder
	name    string
	gain    *gorgonia.Node
	options norm.Options
}

// NewNorm makes a norm whose gain is the parameter name, of the given shape.
func NewNorm(b *graph.Builder, name string, c NormConfig, shape ...int) *Norm {
	return NewNormFrom(b, name, c, 1, shape...)
}

// NewNormFrom is like NewNorm, with a gain that starts at the number start.
func NewNormFrom(b *graph.Builder, name string, c NormConfig, start float64, shape ...int) *Norm {
	gain := graph.ParamSpec{Name: name, Shape: shape, Init: graph.Initializer{Offset: start}}
	n := &Norm{b: b, name: name, gain: b.Param(gain), options: norm.Options{RMS: c.RMS, Eps: c.Eps}}
	if c.Bias {
		n.options.Bias = b.Param(Zero(name+"_bias", shape...))
	}
	return n
}

// NewNorms makes norms for n vectors of each token, each with its own gain, a row of the parameter
// name [n, width].
func NewNorms(b *graph.Builder, name string, c NormConfig, n, width int) *Norm {
	all := NewNorm(b, name, c, n, width)
	all.options.Groups = n
	return all
}

// Forward normalises x [T, ...shape].
func (n *Norm) Forward(x *gorgonia.Node) *gorgonia.Node {
	return n.b.Hook(n.name+".out", n.Apply(x), n.axes()...)
}

// Apply is like Forward, for a norm that is used more than once: its output gets no name.
func (n *Norm) Apply(x *gorgonia.Node) *gorgonia.Node { return norm.Apply(n.b, x, n.gain, n.options) }

// Gain returns the gain's node.
func (n *Norm) Gain() *gorgonia.Node { return n.gain }

// Options returns the norm's kind, eps and bias.
func (n *Norm) Options() norm.Options { return n.options }

// axes names the axes of a gain: those of a matrix stream, of several vectors, or of the features.
func (n *Norm) axes() []string {
	switch {
	case n.options.Groups > 0:
		return []string{"row", "feature"}
	case n.gain != nil && n.gain.Shape().Dims() == 2:
		return []string{"key", "value"}
	}
	return []string{"feature"}
}

// Read normalises a matrix stream [T, Dk, Dv] and reads it with keys [m..., Dk], in one
// pass unless the normalised stream is hooked.
func (n *Norm) Read(x, keys *gorgonia.Node) *gorgonia.Node {
	if n.b.Hooked(n.name + ".out") {
		return readwrite.Read(n.b, n.Forward(x), keys)
	}
	return readwrite.NormRead(n.b, x, n.gain, keys, n.options)
}
