package readwrite

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/norm"
)

// normRead normalises and reads a matrix stream in one pass.
type normRead struct {
	norm.Params
	saved *norm.Stats
}

// NormRead reads from a normalised matrix stream without storing the normalised one (RMT paper eq.
// 22-23 after the norm of section 3.2):
//
//	y_t = keys Norm(X_t)
//
// x [T, Dk, Dv], gain [Dk, Dv], keys [m..., Dk], y [T, m..., Dv]. The norm is taken over all Dk*Dv
// entries of a token jointly.
func NormRead(b *graph.Builder, x, gain, keys *gorgonia.Node, o norm.Options) *gorgonia.Node {
	if o.Bias != nil {
		return Read(b, norm.Apply(b, x, gain, o), keys)
	}
	return b.Apply(normRead{o.Params(), &norm.Stats{}}, x, gain, keys)
}

func (k normRead) String() string { return "NormRead " + k.Params.String() }

func (normRead) FLOPs(c graph.Cost) int { return matrixFLOPs(c.Signature(0), c.Signature(2)) }

func (k normRead) Infer(in []graph.Signature) (graph.Signature, error) {
	if x := in[0].Shape; x.Dims() == 3 && !x[1:].Eq(in[1].Shape) {
		return graph.Signature{}, errors.Errorf("gain: want shape %v for a stream %v, got %v", x[1:], x, in[1].Shape)
	}
	return readSignature(in[0], in[2])
}

func (k normRead) params(x, keys graph.Signature) kernel.NormReadParams {
	tokens, m, dk, dv := streamSizes(x, keys)
	return kernel.NormReadParams{Tokens: tokens, R: m, Dk: dk, Dv: dv, RMS: k.RMS, Eps: k.Eps}
}

func (k normRead) VJP(d *graph.Derivative) {
	primary := d.MakeAccumulating(normReadGrad{of: k}, d.Gradient(), d.Input(0), d.Input(1), d.Input(2))
	d.SetSecondary(1, primary, 0, "GradGain of NormRead")
	d.SetSecondary(2, primary, 1, "GradKeys of NormRead")
}

// DeviceBytes counts the statistics.
func (k normRead) DeviceBytes(c graph.Cost) (saved, scratch int) {
	return 2 * c.Signature(0).Leading() * cuda.F32.Size(), 0
}

// ByRows returns true.
func (normRead) ByRows() bool { return true }

func (k normRead) Run(c *graph.Call) {
	graph.Dispatch(c, k, runNormRead, runNormRead)
}

func runNormRead[T kernel.Float](k normRead, c graph.CallOf[T]) {
	p := k.params(c.Signature(0), c.Signature(2))
	mean, rstd := graph.SavedPair[T](&k.saved.Saved, p.Tokens)
	graph.State[kernel.NormRead[T]](c).Forward(c.Pool(), c.RowsOut(), c.Rows(0), c.In(1), c.In(2), mean, rstd, p)
}

// normReadGrad computes dx; its secondaries are dgain and dkeys. Inputs: dy, x, gain, keys and
// optionally the gradient of x from its other readers, to which dx is added.
type normReadGrad struct {
	graph.NoGradient
	of normRead
}

func (k normReadGrad) InPlace(i int) bool { return i == 4 }

func (k normReadGrad) String() string { return "GradX of " + k.of.String() }

func (normReadGrad) FLOPs(c graph.Cost) int { // dXn = keys^T dy, and dkeys
	return (1 + c.Secondary(1)) * matrixFLOPs(c.Signature(1), c.Signature(3))
}

// ByRows returns true.
func (normReadGrad) ByRows() bool { return true }

func (k normReadGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runNormReadGrad, runNormReadGrad)
}

func runNormReadGrad[T kernel.Float](k normReadGrad, c graph.CallOf[T]) {
	p := k.of.params(c.Signature(1), c.Signature(3))
	mean, rstd := graph.SavedPair[T](&k.of.saved.Saved, p.Tokens)
	dgain, accumulateGain := c.SecondaryOut(0)
	dkeys, accumulateKeys := c.SecondaryOut(1)
	graph.State[kernel.NormRead[T]](c).Backward(c.Pool(), c.RowsOut(), c.Rows(4), dgain, dkeys, c.Rows(0), c.Rows(1), c.In(2), c.In(3),
		mean, rstd, accumulateGain, accumulateKeys, p)
}
