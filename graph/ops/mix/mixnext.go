package mix

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// mixNext is a mixWrite whose run also reads the stream that it makes; it is the primary of
// nextRead.
type mixNext struct{ mixWrite }

// Next writes to a stream as Write does and reads the result by the same coefficients, in one pass,
// as single-pass hyper-connections do (DeepSeek-V4.1, transformers' pull request 48755): what one
// sublayer's coefficients read is the next sublayer's input,
//
//	H'_t[k] = sum over i of carry[i, k] H_t[i] + sum over j of up'[k, j] y_t[j]
//	u_t[j] = sum over i of down[i, j] H'_t[i]
//
// h, H' [T, n, d]; y and u T tokens of m*d entries, u [T, m*d]; c as in Read and Write. The
// gradients of both are computed in one pass, too.
func Next(b *graph.Builder, h, y, c *gorgonia.Node, m int) (next, u *gorgonia.Node) {
	next = b.Apply(mixNext{mixWrite{mixing{m}}}, h, y, c)
	if next == nil {
		return nil, nil
	}
	return next, b.Secondary(nextRead{mixRead{mixing{m}}}, 0, next, c)
}

func (k mixNext) String() string { return fmt.Sprintf("MixNext(m=%d)", k.m) }

func (k mixNext) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMixNext, runMixNext)
}

func runMixNext[T kernel.Float](k mixNext, c graph.CallOf[T]) {
	u, _ := c.SecondaryOut(0)
	p := k.params(c.Signature(0), c.Signature(2))
	graph.State[kernel.MixWrite[T]](c).ForwardRead(c.Pool(), c.Out(), u, c.In(0), c.In(1), c.In(2), p)
}

// VJP makes the gradients of the write and the read in one pass where nextRead has left that to it.
func (k mixNext) VJP(d *graph.Derivative) {
	if _, held := graph.PrimitiveOf(d.Gradient()).(heldGradient); !held {
		k.mixWrite.VJP(d)
		return
	}
	addends, children := mixAddendsOf(d, 2, d.Gradient(), graph.Inputs(d.Gradient())[1], d.Output(), d.Input(0), d.Input(1), d.Input(2))
	primary := d.Make(0, mixNextGrad{of: k, addends: addends}, children...)
	d.SetSecondary(1, primary, 0, "GradY of MixNext")
	d.SetFloat32(2, primary, 1, "GradC of MixNext")
}

// nextRead is u, computed by the run of its primary. Inputs: the stream, and the coefficients.
type nextRead struct{ mixRead }

func (k nextRead) String() string { return fmt.Sprintf("NextRead(m=%d)", k.m) }

func (nextRead) Run(*graph.Call) {}

// Launch does nothing.
func (nextRead) Launch(*graph.DeviceCall) {}

// Bytes returns 0: the primary counts what it writes.
func (nextRead) Bytes(graph.Cost) int { return 0 }

// VJP passes the gradient of u and the stream's gradient from its later readers on to the primary,
// which makes one pass of both. Where the stream has no such gradient, or nobody can tell, it makes
// the gradients of a read.
func (k nextRead) VJP(d *graph.Derivative) {
	others := d.TakeAccumulated(0)
	if others == nil {
		k.mixRead.VJP(d)
		return
	}
	d.Make(0, heldGradient{}, others, d.Gradient())
}

// heldGradient is the gradient of a stream without what a read of it adds, which is still to be
// computed from its second input, the gradient of the read. It does nothing: its output is its
// first input.
type heldGradient struct{ graph.NoGradient }

func (heldGradient) String() string { return "HeldGradient" }

func (heldGradient) InPlace(i int) bool { return i == 0 }

// Bytes returns 0: the output lies where the input does.
func (heldGradient) Bytes(graph.Cost) int { return 0 }

func (k heldGradient) Run(c *graph.Call) {
	graph.Dispatch(c, k, runHeldGradient, runHeldGradient)
}

func runHeldGradient[T kernel.Float](_ heldGradient, c graph.CallOf[T]) {
	if out, in := c.Out(), c.In(0); &out[0] != &in[0] {
		copy(out, in)
	}
}

// mixNextGrad computes dh; its secondaries are dy and dc. Inputs: the gradient of the stream, the
// gradient of u, the stream that was made, h, y, c and the addends.
type mixNextGrad struct {
	graph.NoGradient
	of      mixNext
	addends mixAddends
}

func (k mixNextGrad) String() string { return "GradH of " + k.of.String() }

func (k mixNextGrad) FLOPs(c graph.Cost) int { // dh, dy and dc, and what u adds to them
	dc, read := c.Secondary(1), k.of.readFLOPs(c.Signature(0))
	return (1+dc)*(k.of.carryFLOPs(c.Signature(0), c.Signature(5))+read) + (c.Secondary(0)+dc)*read
}

func (k mixNextGrad) InPlace(i int) bool { return i == 0 || i == k.addends.h }

func (k mixNextGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMixNextGrad, runMixNextGrad)
}

func runMixNextGrad[T kernel.Float](k mixNextGrad, c graph.CallOf[T]) {
	p := k.of.params(c.Signature(0), c.Signature(5))
	g := mixGrads[T](c, k.addends)
	g.Y, g.AddToY = c.SecondaryOut(0)
	g.C, g.AddToC = c.SecondaryOut(1)
	graph.State[kernel.MixWrite[T]](c).BackwardRead(c.Pool(), g, c.In(0), c.In(1), c.In(2), c.In(3), c.In(4), c.In(5), p)
}
