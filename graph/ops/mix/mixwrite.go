package mix

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/norm"
)

// mixWrite carries over a stream of several rows and writes into it. Its run also computes what the
// next sublayer needs of the result: it is the primary of nextRead and nextProjection. Inputs: h,
// y, c, and w and the gain of the projection.
type mixWrite struct {
	mixing
	reads, projects bool
	linear          norm.LinearOp
}

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
	next, _, _ := Next(b, h, y, c, m, NextOptions{})
	return next
}

func (k mixWrite) String() string {
	name := "MixWrite"
	if k.reads {
		name = "MixNext"
	}
	if k.projects {
		return fmt.Sprintf("%s(m=%d, %v)", name, k.m, k.linear)
	}
	return fmt.Sprintf("%s(m=%d)", name, k.m)
}

func (k mixWrite) FLOPs(c graph.Cost) int {
	return k.readFLOPs(c.Signature(0)) + k.carryFLOPs(c.Signature(0), c.Signature(2))
}

func (k mixWrite) Infer(in []graph.Signature) (graph.Signature, error) {
	h, y, c := in[0], in[1], in[2]
	if err := k.check(h, c, k.m, 2*k.m); err != nil {
		return graph.Signature{}, err
	}
	if k.projects {
		if _, err := k.linear.Infer(append([]graph.Signature{h}, in[3:]...)); err != nil {
			return graph.Signature{}, err
		}
	}
	if y.Shape.Dims() < 2 || y.Leading() != h.Shape[0] || y.Width() != k.m*h.Shape[2] {
		return graph.Signature{}, errors.Errorf("y: want %d tokens of %d entries for a stream %v and m = %d, got %v", h.Shape[0], k.m*h.Shape[2], h.Shape,
			k.m, y.Shape)
	}
	return h, nil
}

func (k mixWrite) InPlace(i int) bool { return i == 0 }

// Differentiable leaves the gradients of the projection's weights to nextProjection.
func (mixWrite) Differentiable(i int) bool { return i < 3 }

// Holds takes one term of a read and one of a projection. It refuses the term of a read that does
// not carry rows if there is no projection: the gradient of h then equals the stream's gradient and
// takes no pass that the read's gradient could join.
func (k mixWrite) Holds(held []any, term any) bool {
	has := heldTermsOf(held)
	switch term := term.(type) {
	case readTerm:
		return has.read.du == nil && (term.c == nil || term.mixed || k.projects)
	case projectionTerm:
		return has.projection.dz == nil
	}
	return false
}

// VJP makes the gradients of h, y and c, and in the same pass those that reads and nextProjection
// have left to it.
func (k mixWrite) VJP(d *graph.Derivative) {
	held := heldTermsOf(d.Held())
	if held == (heldTerms{}) && !k.params(d.Signature(0), d.Signature(2)).Mixes() {
		k.vjpUnmixed(d)
		return
	}
	grad := mixWriteGrad{of: k, out: -1, du: -1, by: -1, dz: -1, gain: -1}
	inputs := gorgonia.Nodes{d.Gradient(), d.Input(0), d.Input(1), d.Input(2)}
	add := func(nodes ...*gorgonia.Node) (first int) {
		inputs = append(inputs, nodes...)
		return len(inputs) - len(nodes)
	}
	read, projection := held.read, held.projection
	if projection.dz != nil || read.du != nil && read.c == nil {
		grad.out = add(d.Output())
	}
	if read.du != nil {
		grad.du = add(read.du)
	}
	if read.c != nil {
		grad.by = add(read.c)
	}
	if projection.dz != nil {
		grad.dz = add(projection.dz, projection.z, d.Input(3))
	}
	if projection.dz != nil && d.Inputs() > 4 {
		grad.gain = add(d.Input(4))
	}
	grad.addends, inputs = mixAddendsOf(d, 2, inputs...)
	primary := d.Make(0, grad, inputs...)
	d.SetSecondary(1, primary, 0, "GradY of MixWrite")
	d.SetFloat32(2, primary, 1, "GradC of MixWrite")
	if projection.wantsW {
		d.SetHeld(3, primary, 2, "GradW of MixWrite")
	}
	if projection.wantsGain {
		d.SetHeld(4, primary, 3, "GradGain of MixWrite")
	}
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
	u, _ := c.SecondaryOut(0)
	var projection kernel.MixProjection[T]
	if k.projects {
		z, _ := c.SecondaryOut(1)
		projection = mixProjection(k, z, c, 0, 3, 4)
	}
	graph.State[kernel.MixWrite[T]](c).ForwardNext(c.Pool(), c.Out(), u, c.In(0), c.In(1), c.In(2), k.params(c.Signature(0), c.Signature(2)), projection)
}

// mixProjection describes the projection z to the kernels; h, w and gain are numbers of inputs.
func mixProjection[T kernel.Float](k mixWrite, z []T, c graph.CallOf[T], h, w, gain int) kernel.MixProjection[T] {
	p := k.linear.Sizes(c.Signature(h), c.Signature(w))
	mean, rstd := norm.LinearStatistics[T](k.linear, p)
	return kernel.MixProjection[T]{Z: z, Gain: c.In(gain), W: c.In(w), Mean: mean, RSTD: rstd, NormLinearParams: p}
}

// mixWriteGrad computes dh; its secondaries are dy, dc, dw and dgain, computed in the same pass
// over the stream's gradient. Inputs: that gradient, h, y and c. The fields have the numbers of the
// further inputs, -1 for one that is missing: out, the stream that was made; du, the gradient of u;
// by, the coefficients by which u was read (missing: c, whose gradient then has a term from the
// read); dz, the gradient of z, followed by z and w; gain, the gain; and the addends.
type mixWriteGrad struct {
	graph.NoGradient
	of                    mixWrite
	out, du, by, dz, gain int
	addends               mixAddends
}

func (k mixWriteGrad) String() string {
	return fmt.Sprintf("GradH of %v, du %t, dz %t", k.of, k.du >= 0, k.dz >= 0)
}

func (k mixWriteGrad) FLOPs(c graph.Cost) int { // dh, dy and dc, what u adds to them, and what z does
	h, dc, flops := c.Signature(1), c.Secondary(1), 0
	read := k.of.readFLOPs(h)
	switch {
	case k.by >= 0:
		flops += k.readBy(c).readFLOPs(h)
	case k.du >= 0:
		flops += (1 + dc) * read
	}
	if k.dz >= 0 {
		flops += (1 + c.Secondary(2)) * 2 * h.Size() * c.Signature(k.dz+2).Width()
	}
	return flops + (1+dc)*k.of.carryFLOPs(h, c.Signature(3)) + (c.Secondary(0)+dc)*read
}

// readBy returns the number of rows that the read with the coefficients by reads.
func (k mixWriteGrad) readBy(c signatures) mixing {
	return mixing{c.Signature(k.du).Width() / c.Signature(1).Shape[2]}
}

// InPlace allows the addend's memory unless dh is computed in two steps.
func (k mixWriteGrad) InPlace(i int) bool { return i == 0 || i == k.addends.h && k.dz < 0 }

func (k mixWriteGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMixWriteGrad, runMixWriteGrad)
}

func runMixWriteGrad[T kernel.Float](k mixWriteGrad, c graph.CallOf[T]) {
	g := mixGrads[T](c, k.addends)
	g.Y, g.AddToY = c.SecondaryOut(0)
	g.C, g.AddToC = c.SecondaryOut(1)
	var projection kernel.MixProjectionGrads[T]
	if k.dz >= 0 {
		projection = kernel.MixProjectionGrads[T]{Of: mixProjection(k.of, c.In(k.dz+1), c, 1, k.dz+2, k.gain), DZ: c.In(k.dz)}
		projection.Grads.W, projection.Grads.AddToW = c.SecondaryOut(2)
		projection.Grads.Gain, projection.Grads.AddToGain = c.SecondaryOut(3)
	}
	read := kernel.MixReadTerm[T]{DU: c.In(k.du), Out: c.In(k.out)}
	if k.by >= 0 {
		read.By, read.MixParams = c.In(k.by), k.readBy(c).params(c.Signature(1), c.Signature(k.by))
	}
	graph.State[kernel.MixWrite[T]](c).BackwardNext(c.Pool(), g, c.In(0), read, c.In(1), c.In(2), c.In(3),
		k.of.params(c.Signature(1), c.Signature(3)), projection)
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
