package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// normRead is Norm and Read in one pass over the stream.
type normRead struct {
	normKind
	saved *stats
}

// NormRead reads from the normalised matrix stream without storing it (RMT paper eq.
// 22-23 behind the norm of section 3.2):
//
//	y_t = keys Norm(X_t)
//
// x [T, Dk, Dv], gain [Dk, Dv], keys [m..., Dk], y [T, m..., Dv]. The norm is over all
// Dk*Dv entries of a token jointly.
func (b *Builder) NormRead(x, gain, keys *gorgonia.Node, o NormOptions) *gorgonia.Node {
	if o.Bias != nil {
		return b.Read(b.Norm(x, gain, o), keys)
	}
	return b.Apply(normRead{o.kind(), &stats{}}, x, gain, keys)
}

func (k normRead) String() string { return "NormRead " + k.normKind.String() }

func (normRead) FLOPs(c Cost) int { return matrixFLOPs(c.Signature(0), c.Signature(2)) }

func (k normRead) Infer(in []Signature) (Signature, error) {
	if err := WantFloats(in); err != nil {
		return Signature{}, err
	}
	if x := in[0].Shape; x.Dims() == 3 && !x[1:].Eq(in[1].Shape) {
		return Signature{}, errors.Errorf("gain: want shape %v for a stream %v, got %v", x[1:], x, in[1].Shape)
	}
	return readSignature(in[0], in[2])
}

func (k normRead) params(x, keys Signature) kernel.NormReadParams {
	tokens, m, dk, dv := streamSizes(x, keys)
	return kernel.NormReadParams{Tokens: tokens, R: m, Dk: dk, Dv: dv, RMS: k.rms, Eps: k.eps}
}

func (k normRead) VJP(d *Derivative) {
	primary := d.ApplyAbsorbing(normReadGrad{of: k}, d.Gradient(), d.Input(0), d.Input(1), d.Input(2))
	d.Set(0, primary)
	if d.Wants(1) {
		d.SetSecondary(1, primary, 0, "GradGain of NormRead")
	}
	if d.Wants(2) {
		d.SetSecondary(2, primary, 1, "GradKeys of NormRead")
	}
}

func (k normRead) Run(c *Call) error {
	return Dispatch(c, k, runNormRead[float32], runNormRead[float64])
}

func runNormRead[T kernel.Float](k normRead, c *Call) error {
	p := k.params(c.Signature(0), c.Signature(2))
	mean, rstd := savedRows[T](k.saved, p.Tokens)
	State[kernel.NormRead[T]](c).Forward(c.Pool(), Out[T](c), In[T](c, 0), In[T](c, 1), In[T](c, 2), mean, rstd, p)
	return nil
}

// normReadGrad is dx; its secondaries are dgain and dkeys. Inputs: dy, x, gain, keys and,
// where dx is to be added to it, the gradient that x has from elsewhere.
type normReadGrad struct {
	NoGradient
	of normRead
}

func (k normReadGrad) InPlace(i int) bool { return i == 4 }

func (k normReadGrad) String() string { return "GradX of " + k.of.String() }

func (normReadGrad) FLOPs(c Cost) int { // dXn = keys^T dy, and dkeys
	return (1 + c.Secondary(1)) * matrixFLOPs(c.Signature(1), c.Signature(3))
}

func (k normReadGrad) Infer(in []Signature) (Signature, error) { return in[1], nil }

func (k normReadGrad) Run(c *Call) error {
	return Dispatch(c, k, runNormReadGrad[float32], runNormReadGrad[float64])
}

func runNormReadGrad[T kernel.Float](k normReadGrad, c *Call) error {
	p := k.of.params(c.Signature(1), c.Signature(3))
	mean, rstd := savedRows[T](k.of.saved, p.Tokens)
	dgain, accumulateGain := SecondaryOut[T](c, 0)
	dkeys, accumulateKeys := SecondaryOut[T](c, 1)
	run := State[kernel.NormRead[T]](c)
	run.Addend = In[T](c, 4)
	run.Backward(c.Pool(), Out[T](c), dgain, dkeys, In[T](c, 0), In[T](c, 1), In[T](c, 2), In[T](c, 3),
		mean, rstd, accumulateGain, accumulateKeys, p)
	return nil
}
