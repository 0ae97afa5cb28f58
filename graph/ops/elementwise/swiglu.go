package elementwise

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// swiGLU computes the product of a gated linear unit whose gate is SiLU. Inputs: gate, value.
type swiGLU struct{}

// SwiGLU computes the product of a gated linear unit whose gate is SiLU (Shazeer 2020, arXiv
// 2002.05202, section 2), elementwise:
//
//	y = silu(gate) ⊙ value,   silu(x) = x sigmoid(x)
//
// gate, value and y have the same shape.
func SwiGLU(b *graph.Builder, gate, value *gorgonia.Node) *gorgonia.Node {
	return b.Apply(swiGLU{}, gate, value)
}

func (swiGLU) String() string { return "SwiGLU" }

func (swiGLU) Infer(in []graph.Signature) (graph.Signature, error) {
	return graph.SameShape(in, "gate", "value")
}

func (swiGLU) InPlace(int) bool { return true }

// Again computes the product again.
func (k swiGLU) Again(b *graph.Builder, inputs gorgonia.Nodes) *gorgonia.Node {
	return b.Apply(k, inputs...)
}

func (swiGLU) VJP(d *graph.Derivative) {
	primary := SwiGLUGradient(d, d.Input(0), d.Input(1))
	d.Set(0, primary)
	if d.Wants(1) {
		d.Set(1, SwiGLUFactor(d, primary, "value"))
	}
}

func (swiGLU) Run(c *graph.Call) {
	graph.Elementwise(c, kernel.SwiGLU[float32], kernel.SwiGLU[float64])
}

func (swiGLU) Launch(c *graph.DeviceCall) { c.Elementwise("swiglu") }

// swiGLUGrad computes dgate = dy ⊙ value ⊙ silu'(gate); its secondary is dvalue = dy ⊙ silu(gate).
// Inputs: dy, gate, value.
type swiGLUGrad struct{ graph.NoGradient }

func (swiGLUGrad) String() string { return "GradGate of SwiGLU" }

func (swiGLUGrad) InPlace(int) bool { return true }

func (swiGLUGrad) Run(c *graph.Call) {
	graph.Elementwise(c, kernel.SwiGLUGradient[float32], kernel.SwiGLUGradient[float64])
}

func (swiGLUGrad) Launch(c *graph.DeviceCall) {
	c.Unify()
	dgate := c.Out()
	dvalue := c.SecondaryAs(0, dgate.Type)
	c.Launch("swiglu_grad"+dgate.Suffix(), cuda.Eights(dgate.N),
		dgate, dvalue.Array, c.In(0), c.In(1), c.In(2), cuda.Long(dgate.N))
	dvalue.Deliver()
}

// SwiGLUGradient returns the gradient of the gate, where d differentiates the product of gate and
// value. SwiGLUFactor returns the gradient of the value.
func SwiGLUGradient(d *graph.Derivative, gate, value *gorgonia.Node) *gorgonia.Node {
	return d.Apply(swiGLUGrad{}, d.Gradient(), gate, value)
}

// SwiGLUFactor returns the gradient of one factor, "gate" or "value". primary computes the gradient
// of the other factor, and this one as its secondary 0.
func SwiGLUFactor(d *graph.Derivative, primary *gorgonia.Node, factor string) *gorgonia.Node {
	return d.Builder().Secondary(swiGLUFactorGrad{factor: factor}, 0, primary)
}

// swiGLUFactorGrad is the gradient of one factor, computed by the run of the other factor's
// gradient, which is its input.
type swiGLUFactorGrad struct {
	graph.MadeByPrimary
	graph.NoGradient
	factor string
}

func (k swiGLUFactorGrad) String() string { return "Grad of the " + k.factor + " of SwiGLU" }
