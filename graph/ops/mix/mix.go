// Package mix reads and writes streams that have several rows for each token, as
// hyper-connections and their descendants do, computes their mixing coefficients, and attends
// over depth.
package mix

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// mixing holds the number of rows that a sublayer reads and writes, for Read and Write.
type mixing struct{ m int }

// check checks the shapes of the stream and the coefficients, which may have the given numbers of
// columns instead of 2m+n.
func (k mixing) check(h, c graph.Signature, columns ...int) error {
	if k.m < 1 {
		return errors.Errorf("m: want at least 1, got %d", k.m)
	}
	if err := graph.WantDims(h, 3, "stream", "[tokens, n, d]"); err != nil {
		return err
	}
	n := h.Shape[1]
	for _, row := range append(columns, 2*k.m+n) {
		if c.Shape.Eq(graph.WithTokens(n, row)) || c.Shape.Eq(graph.WithTokens(h.Shape[0], n, row)) {
			return nil
		}
	}
	return errors.Errorf("coefficients: want shape %v or %v for a stream %v and m = %d, got %v", graph.WithTokens(n, 2*k.m+n),
		graph.WithTokens(h.Shape[0], n, 2*k.m+n), h.Shape, k.m, c.Shape)
}

func (k mixing) params(h, c graph.Signature) kernel.MixParams {
	last := c.Shape.Dims() - 1
	return kernel.MixParams{Tokens: h.Shape[0], N: h.Shape[1], M: k.m, D: h.Shape[2], Shared: last == 1, Row: c.Shape[last]}
}

// mixRead reads from a stream of several rows.
type mixRead struct{ mixing }

// Read computes a sublayer's input from a stream of n rows, as all designs since hyper-connections
// do (Zhu et al. 2024, arXiv 2409.19606, eq. 2, A_m; with m > 1, the generalised ones of virtual
// width networks). The coefficients c hold, for row i of the stream, the columns
//
//	[down[i, 0..m) | carry[i, 0..n) | up'[i, 0..m)]
//	u_t[j] = sum over i of down[i, j] H_t[i],   j < m
//
// h [T, n, d]; c [n, 2m+n] for all tokens or [T, n, 2m+n], one for each token; u [T, m*d]. Write
// uses carry and up'; pass it the same c. If rows are carried as they are, c has no columns carry:
// [n, 2m] or [T, n, 2m]; for a read alone there may be no up' either.
func Read(b *graph.Builder, h, c *gorgonia.Node, m int) *gorgonia.Node {
	return b.Apply(mixRead{mixing{m}}, h, c)
}

func (k mixRead) String() string { return fmt.Sprintf("MixRead(m=%d)", k.m) }

func (k mixRead) FLOPs(c graph.Cost) int { return k.readFLOPs(c.Signature(0)) }

func (k mixRead) Infer(in []graph.Signature) (graph.Signature, error) {
	if err := k.check(in[0], in[1], k.m, 2*k.m); err != nil {
		return graph.Signature{}, err
	}
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(in[0].Shape[0], k.m*in[0].Shape[2])}, nil
}

// VJP leaves the gradient of h to the write that makes h, so that only one pass changes it. Where
// that cannot be, and on a device, it makes both gradients.
func (k mixRead) VJP(d *graph.Derivative) {
	mixed := k.params(d.Signature(0), d.Signature(1)).Mixes()
	if d.Builder().OnDevice() || !d.Hold(0, readTerm{d.Gradient(), d.Input(1), mixed}) {
		k.vjp(d)
		return
	}
	if !d.Wants(1) {
		return
	}
	grad, children := mixReadGradC{of: k, addend: -1}, gorgonia.Nodes{d.Gradient(), d.Input(0)}
	if addend := d.TakeAccumulated(1); addend != nil {
		grad.addend, children = len(children), append(children, addend)
	}
	d.Make(1, grad, children...)
}

// vjp makes the gradients of h and c.
func (k mixRead) vjp(d *graph.Derivative) {
	addends, children := mixAddendsOf(d, 1, d.Gradient(), d.Input(0), d.Input(1))
	primary := d.Make(0, mixReadGrad{of: k, addends: addends}, children...)
	d.SetFloat32(1, primary, 0, "GradC of MixRead")
}

func (k mixRead) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMixRead, runMixRead)
}

func runMixRead[T kernel.Float](k mixRead, c graph.CallOf[T]) {
	p := k.params(c.Signature(0), c.Signature(1))
	graph.State[kernel.MixRead[T]](c).Forward(c.Pool(), c.Out(), c.In(0), c.In(1), p)
}

// mixAddends are the numbers of a gradient op's inputs that hold gradients of the stream and of the
// coefficients from other readers; -1 if there is none.
type mixAddends struct{ h, c int }

// mixAddendsOf appends such inputs to a gradient op's children. The stream is input 0; coefficients
// is the input number of the coefficients. The ops over one stream and one set of coefficients then
// add to the sums as they go, instead of making separate terms, in which half the columns of C
// would be zero.
func mixAddendsOf(d *graph.Derivative, coefficients int, children ...*gorgonia.Node) (mixAddends, gorgonia.Nodes) {
	a := mixAddends{-1, -1}
	if addend := d.TakeAccumulated(0); addend != nil {
		a.h, children = len(children), append(children, addend)
	}
	if !d.Wants(coefficients) {
		return a, children
	}
	if addend := d.TakeAccumulated(coefficients); addend != nil {
		a.c, children = len(children), append(children, addend)
	}
	return a, children
}

// mixGrads returns the output of a call, the stream's gradient, with the addends.
func mixGrads[T kernel.Float](c graph.CallOf[T], a mixAddends) kernel.MixGrads[T] {
	return kernel.MixGrads[T]{H: c.Out(), AddendH: c.In(a.h), AddendC: c.In(a.c)}
}

// mixReadGrad computes dh; its secondary is dc. Inputs: du, h, c and the addends.
type mixReadGrad struct {
	graph.NoGradient
	of      mixRead
	addends mixAddends
}

func (k mixReadGrad) String() string { return "GradH of " + k.of.String() }

func (k mixReadGrad) FLOPs(c graph.Cost) int { // dh, and dc
	return (1 + c.Secondary(0)) * k.of.readFLOPs(c.Signature(1))
}

func (k mixReadGrad) InPlace(i int) bool { return i == k.addends.h }

func (k mixReadGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMixReadGrad, runMixReadGrad)
}

func runMixReadGrad[T kernel.Float](k mixReadGrad, c graph.CallOf[T]) {
	p := k.of.params(c.Signature(1), c.Signature(2))
	g := mixGrads[T](c, k.addends)
	g.C, g.AddToC = c.SecondaryOut(0)
	graph.State[kernel.MixRead[T]](c).Backward(c.Pool(), g, c.In(0), c.In(1), c.In(2), p)
}

// mixReadGradC computes dc alone. Inputs: du, h and optionally the gradient of c from its other
// readers.
type mixReadGradC struct {
	graph.NoGradient
	of     mixRead
	addend int
}

func (k mixReadGradC) String() string { return "GradC of " + k.of.String() }

func (k mixReadGradC) FLOPs(c graph.Cost) int { return k.of.readFLOPs(c.Signature(1)) }

func (mixReadGradC) KeepsFloat32() bool { return true }

func (k mixReadGradC) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMixReadGradC, runMixReadGradC)
}

func runMixReadGradC[T kernel.Float](k mixReadGradC, c graph.CallOf[T]) {
	g := kernel.MixGrads[T]{C: c.Out(), AddendC: c.In(k.addend)}
	graph.State[kernel.MixRead[T]](c).Backward(c.Pool(), g, c.In(0), c.In(1), nil, k.of.params(c.Signature(1), c.Result()))
}

// readFLOPs counts combining the rows of a stream h into m rows, or the reverse.
func (k mixing) readFLOPs(h graph.Signature) int { return 2 * k.m * h.Size() }

// carryFLOPs counts carrying over a stream h by coefficients c, 0 if rows are carried as they are.
func (k mixing) carryFLOPs(h, c graph.Signature) int {
	if !k.params(h, c).Mixes() {
		return 0
	}
	return 2 * h.Shape[1] * h.Size()
}
