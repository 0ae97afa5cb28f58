// Package delta has two ops over a stream that is written by the delta rule (Zhang et al. 2026,
// arXiv 2601.00417): the write, and the read that reduces the stream's rows to one.
package delta

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// WriteOptions are the constants of a Write.
type WriteOptions struct {
	Eps   float64 // added in normalising y
	Scale float64 // factor of the values
}

// write computes the delta rule. Inputs: x, y, gate, values.
type write struct{ WriteOptions }

// Write applies the delta rule (Zhang et al. 2026, arXiv 2601.00417): it removes from each row of
// the stream the component along y's direction k, and writes a value there,
//
//	X'[c] = X[c] + beta (v[c] - k . X[c]) k
//	k = y / sqrt(|y|^2 + Eps^2);   beta = 2 gate;   v = Scale values
//
// x, X' [T, n, D], or [T, D] with n = 1; y T tokens of D entries, gate [T, 1], values [T, n]. It
// takes one pass; the gradients of all four inputs take one more.
func Write(b *graph.Builder, x, y, gate, values *gorgonia.Node, o WriteOptions) *gorgonia.Node {
	return b.Apply(write{o}, x, y, gate, values)
}

func (k write) String() string { return fmt.Sprintf("DeltaWrite(eps=%g, scale=%g)", k.Eps, k.Scale) }

// FLOPs counts k . X[c] and the sum.
func (k write) FLOPs(c graph.Cost) int { return 4 * c.Signature(0).Size() }

func (k write) Infer(in []graph.Signature) (graph.Signature, error) {
	x, y, gate, values := in[0], in[1], in[2], in[3]
	tokens, n := x.Leading(), values.Width()
	switch {
	case x.Shape.Dims() < 2:
		return graph.Signature{}, errors.Errorf("x: want shape [tokens, n, D] or [tokens, D], got %v", x.Shape)
	case values.Shape.Dims() != 2 || values.Leading() != tokens || x.Width()%n != 0:
		return graph.Signature{}, errors.Errorf("values: want shape (%d, n), n a divisor of the %d entries of a token's x %v, got %v", tokens, x.Width(),
			x.Shape, values.Shape)
	case y.Shape.Dims() < 2 || y.Leading() != tokens || y.Width() != x.Width()/n:
		return graph.Signature{}, errors.Errorf("y: want %d tokens of %d entries for x %v and %d values, got shape %v", tokens, x.Width()/n, x.Shape, n, y.Shape)
	case gate.Shape.Dims() < 1 || gate.Leading() != tokens || gate.Width() != 1:
		return graph.Signature{}, errors.Errorf("gate: want %d entries, one a token, got shape %v", tokens, gate.Shape)
	}
	return x, nil
}

func (k write) params(x, values graph.Signature) kernel.DeltaWriteParams {
	return kernel.DeltaWriteParams{Tokens: x.Leading(), N: values.Width(), D: x.Width() / values.Width(), Eps: k.Eps, Scale: k.Scale}
}

func (write) InPlace(i int) bool { return i == 0 }

func (k write) VJP(d *graph.Derivative) {
	primary := d.Make(0, writeGrad{of: k}, d.Gradient(), d.Input(0), d.Input(1), d.Input(2), d.Input(3))
	d.SetSecondary(1, primary, 0, "GradY of DeltaWrite")
	d.SetFloat32(2, primary, 1, "GradGate of DeltaWrite")
	d.SetFloat32(3, primary, 2, "GradValues of DeltaWrite")
}

func (k write) Run(c *graph.Call) {
	graph.Dispatch(c, k, runWrite, runWrite)
}

func runWrite[T kernel.Float](k write, c graph.CallOf[T]) {
	graph.State[kernel.DeltaWrite[T]](c).Forward(c.Pool(), c.Out(), c.In(0), c.In(1), c.In(2), c.In(3),
		k.params(c.Signature(0), c.Signature(3)))
}

// writeGrad computes dx; its secondaries are dy, dgate and dvalues. Inputs: the gradient of the
// result, x, y, gate, values.
type writeGrad struct {
	graph.NoGradient
	of write
}

func (k writeGrad) String() string { return "GradX of " + k.of.String() }

func (writeGrad) InPlace(i int) bool { return i == 0 }

func (k writeGrad) FLOPs(c graph.Cost) int { return (4 + 4*c.Secondary(0)) * c.Signature(1).Size() }

func (k writeGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runWriteGrad, runWriteGrad)
}

func runWriteGrad[T kernel.Float](k writeGrad, c graph.CallOf[T]) {
	grads := kernel.DeltaWriteGrads[T]{X: c.Out()}
	grads.Y, grads.AddToY = c.SecondaryOut(0)
	grads.Gate, grads.AddToGate = c.SecondaryOut(1)
	grads.Values, grads.AddToValues = c.SecondaryOut(2)
	graph.State[kernel.DeltaWrite[T]](c).Backward(c.Pool(), grads, c.In(0), c.In(1), c.In(2), c.In(3), c.In(4),
		k.of.params(c.Signature(1), c.Signature(4)))
}
