package mix

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// mixWrite carries over a stream of several rows and writes into it.
type mixWrite struct{ mixing }

// Write computes the stream after a sublayer, as all designs since hyper-connections do (Zhu et al.
// 2024, arXiv 2409.19606, eq. 2, A_r and B): its rows are mixed by carry, and up' writes the
// sublayer's m rows into them. With c as in Read,
//
//	H'_t[k] = sum over i of carry[i, k] H_t[i] + sum over j of up'[k, j] y_t[j]
//
// that is carry^T H + B^T y with B = up'^T. h, H' [T, n, d]; y T tokens of m*d entries; c [n, 2m+n]
// or [T, n, 2m+n]. With [n, 2m] or [T, n, 2m], down and up', or [n, m] or [T, n, m], up' alone,
// rows are carried as they are, carry = I, and the gradient of H equals the gradient of H'.
func Write(b *graph.Builder, h, y, c *gorgonia.Node, m int) *gorgonia.Node {
	return b.Apply(mixWrite{mixing{m}}, h, y, c)
}

func (k mixWrite) String() string { return fmt.Sprintf("MixWrite(m=%d)", k.m) }

func (k mixWrite) FLOPs(c graph.Cost) int {
	return k.readFLOPs(c.Signature(0)) + k.carryFLOPs(c.Signature(0), c.Signature(2))
}

func (k mixWrite) Infer(in []graph.Signature) (graph.Signature, error) {
	h, y, c := in[0], in[1], in[2]
	if err := k.check(h, c, k.m, 2*k.m); err != nil {
		return graph.Signature{}, err
	}
	if y.Shape.Dims() < 2 || y.Leading() != h.Shape[0] || y.Width() != k.m*h.Shape[2] {
		return graph.Signature{}, errors.Errorf("y: want %d tokens of %d entries for a stream %v and m = %d, got %v", h.Shape[0], k.m*h.Shape[2], h.Shape,
			k.m, y.Shape)
	}
	return h, nil
}

func (k mixWrite) InPlace(i int) bool { return i == 0 }

func (k mixWrite) VJP(d *graph.Derivative) {
	if !k.params(d.Signature(0), d.Signature(2)).Mixes() {
		k.vjpUnmixed(d)
		return
	}
	addends, children := mixAddendsOf(d, 2, d.Gradient(), d.Input(0), d.Input(1), d.Input(2))
	primary := d.Make(0, mixWriteGrad{of: k, addends: addends}, children...)
	d.SetSecondary(1, primary, 0, "GradY of MixWrite")
	d.SetFloat32(2, primary, 1, "GradC of MixWrite")
}

// vjpUnmixed passes the stream's gradient on, and makes the gradient of y, whose secondary is the
// gradient of the coefficients.
func (k mixWrite) vjpUnmixed(d *graph.Derivative) {
	if d.Wants(0) {
		d.Set(0, d.Gradient())
	}
	grad, children := mixUpGrad{of: k, addend: -1}, gorgonia.Nodes{d.Gradient(), d.Input(1), d.Input(2)}
	if d.Wants(2) {
		if addend := d.TakeAccumulated(2); addend != nil {
			grad.addend, children = len(children), append(children, addend)
		}
	}
	primary := d.Make(1, grad, children...)
	d.SetFloat32(2, primary, 0, "GradC of MixWrite")
}

func (k mixWrite) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMixWrite, runMixWrite)
}

func runMixWrite[T kernel.Float](k mixWrite, c graph.CallOf[T]) {
	p := k.params(c.Signature(0), c.Signature(2))
	graph.State[kernel.MixWrite[T]](c).Forward(c.Pool(), c.Out(), c.In(0), c.In(1), c.In(2), p)
}

// mixWriteGrad computes dh; its secondaries are dy and dc, computed in the same pass over the
// stream's gradient. Inputs: that gradient, h, y, c and the addends.
type mixWriteGrad struct {
	graph.NoGradient
	of      mixWrite
	addends mixAddends
}

func (k mixWriteGrad) String() string { return "GradH of " + k.of.String() }

func (k mixWriteGrad) FLOPs(c graph.Cost) int { // dh, dy and dc
	dc := c.Secondary(1)
	return (1+dc)*k.of.carryFLOPs(c.Signature(0), c.Signature(3)) + (c.Secondary(0)+dc)*k.of.readFLOPs(c.Signature(0))
}

func (k mixWriteGrad) InPlace(i int) bool { return i == 0 || i == k.addends.h }

func (k mixWriteGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMixWriteGrad, runMixWriteGrad)
}

func runMixWriteGrad[T kernel.Float](k mixWriteGrad, c graph.CallOf[T]) {
	p := k.of.params(c.Signature(0), c.Signature(3))
	g := mixGrads[T](c, k.addends)
	g.Y, g.AddToY = c.SecondaryOut(0)
	g.C, g.AddToC = c.SecondaryOut(1)
	graph.State[kernel.MixWrite[T]](c).Backward(c.Pool(), g, c.In(0), c.In(1), c.In(2), c.In(3), p)
}

// mixUpGrad computes dy of a write without carry; its secondary is dc. Inputs: the stream's
// gradient, y, c and optionally the gradient of c from other readers.
type mixUpGrad struct {
	graph.NoGradient
	of     mixWrite
	addend int
}

func (k mixUpGrad) String() string { return "GradY of " + k.of.String() }

func (k mixUpGrad) FLOPs(c graph.Cost) int { // dy and dc
	return (1 + c.Secondary(0)) * k.of.readFLOPs(c.Signature(0))
}

func (k mixUpGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMixUpGrad, runMixUpGrad)
}

func runMixUpGrad[T kernel.Float](k mixUpGrad, c graph.CallOf[T]) {
	g := kernel.MixGrads[T]{Y: c.Out(), AddendC: c.In(k.addend)}
	g.C, g.AddToC = c.SecondaryOut(0)
	graph.State[kernel.MixWrite[T]](c).Backward(c.Pool(), g, c.In(0), nil, c.In(1), c.In(2), k.of.params(c.Signature(0), c.Signature(2)))
}
