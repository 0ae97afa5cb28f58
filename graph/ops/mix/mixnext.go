package mix

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/norm"
)

// mixNext is a mixWrite whose run also computes what the next sublayer needs of the stream that it
// makes: it is the primary of nextRead and nextProjection. Inputs: those of mixWrite, w and the
// gain of the projection.
type mixNext struct {
	mixWrite
	projects bool
	linear   norm.LinearOp
}

// NextOptions say what Next computes of the stream that it writes.
type NextOptions struct {
	Read    bool        // by the same coefficients
	Project *Projection // nil: nothing
}

// Projection is norm.Linear of a stream: z = Norm(H) w.
type Projection struct {
	W, Gain *gorgonia.Node // [width, K], [width] or nil
	Norm    norm.Options
}

// Next writes to a stream as Write does and computes, in the same pass, what the next sublayer
// needs of it. Read reads the result by the same coefficients, as single-pass hyper-connections do
// (DeepSeek-V4.1, transformers' pull request 48755): what one sublayer's coefficients read is the
// next sublayer's input,
//
//	H'_t[k] = sum over i of carry[i, k] H_t[i] + sum over j of up'[k, j] y_t[j]
//	u_t[j] = sum over i of down[i, j] H'_t[i]
//
// Project computes z = Norm(H') w, from which the next sublayer's coefficients are made.
//
// h, H' [T, n, d]; y and u T tokens of m*d entries, u [T, m*d]; c as in Read and Write; z as
// norm.Linear's. u and z are nil if they are not asked for. The gradients of all are computed in
// one pass, too.
func Next(b *graph.Builder, h, y, c *gorgonia.Node, m int, o NextOptions) (next, u, z *gorgonia.Node) {
	k, inputs := mixNext{mixWrite: mixWrite{mixing{m}}}, gorgonia.Nodes{h, y, c}
	var weights gorgonia.Nodes
	if p := o.Project; p != nil {
		var err error
		if k.linear, err = p.Norm.LinearOp(); err != nil {
			b.Fail(err)
			return nil, nil, nil
		}
		k.projects, weights = true, append(weights, p.W)
		if p.Gain != nil {
			weights = append(weights, p.Gain)
		}
	}
	next = b.Apply(k, append(inputs, weights...)...)
	if next == nil {
		return nil, nil, nil
	}
	if o.Read {
		u = b.Secondary(nextRead{mixRead{mixing{m}}}, 0, next, c)
	}
	if k.projects {
		z = b.Secondary(nextProjection{k.linear}, 1, next, weights...)
	}
	return next, u, z
}

func (k mixNext) String() string {
	if k.projects {
		return fmt.Sprintf("MixNext(m=%d, %v)", k.m, k.linear)
	}
	return fmt.Sprintf("MixNext(m=%d)", k.m)
}

func (k mixNext) Infer(in []graph.Signature) (graph.Signature, error) {
	if k.projects {
		if _, err := k.linear.Infer(append([]graph.Signature{in[0]}, in[3:]...)); err != nil {
			return graph.Signature{}, err
		}
	}
	return k.mixWrite.Infer(in[:3])
}

func (k mixNext) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMixNext, runMixNext)
}

func runMixNext[T kernel.Float](k mixNext, c graph.CallOf[T]) {
	u, _ := c.SecondaryOut(0)
	var projection kernel.MixProjection[T]
	if k.projects {
		z, _ := c.SecondaryOut(1)
		projection = mixProjection(k, z, c, 0, 3, 4)
	}
	graph.State[kernel.MixWrite[T]](c).ForwardNext(c.Pool(), c.Out(), u, c.In(0), c.In(1), c.In(2), k.params(c.Signature(0), c.Signature(2)), projection)
}

// mixProjection describes the projection z to the kernels; h, w and gain are numbers of inputs.
func mixProjection[T kernel.Float](k mixNext, z []T, c graph.CallOf[T], h, w, gain int) kernel.MixProjection[T] {
	p := k.linear.Sizes(c.Signature(h), c.Signature(w))
	mean, rstd := norm.LinearStatistics[T](k.linear, p)
	return kernel.MixProjection[T]{Z: z, Gain: c.In(gain), W: c.In(w), Mean: mean, RSTD: rstd, NormLinearParams: p}
}

// VJP makes the gradients of the write, and in the same pass those that nextRead and nextProjection
// have left to it.
func (k mixNext) VJP(d *graph.Derivative) {
	held := heldIn(d.Gradient())
	if held == (heldGradients{}) {
		k.mixWrite.VJP(d)
		return
	}
	grad := mixNextGrad{of: k, du: -1, dz: -1, gain: -1}
	inputs := gorgonia.Nodes{d.Gradient(), d.Output(), d.Input(0), d.Input(1), d.Input(2)}
	if held.du != nil {
		grad.du, inputs = len(inputs), append(inputs, held.du)
	}
	if held.dz != nil {
		grad.dz, inputs = len(inputs), append(inputs, held.dz, held.z, d.Input(3))
		if d.Inputs() > 4 {
			grad.gain, inputs = len(inputs), append(inputs, d.Input(4))
		}
	}
	grad.addends, inputs = mixAddendsOf(d, 2, inputs...)
	primary := d.Make(0, grad, inputs...)
	d.SetSecondary(1, primary, 0, "GradY of MixNext")
	d.SetFloat32(2, primary, 1, "GradC of MixNext")
	if held.wantsW {
		d.SetHeld(3, primary, 2, "GradW of MixNext")
	}
	if held.wantsGain {
		d.SetHeld(4, primary, 3, "GradGain of MixNext")
	}
}

// Differentiable leaves the gradients of the projection's weights to nextProjection.
func (mixNext) Differentiable(i int) bool { return i < 3 }

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

// nextProjection is z, computed by the run of its primary. Inputs: the stream, w and the gain.
type nextProjection struct{ norm.LinearOp }

func (k nextProjection) String() string { return "Next" + k.LinearOp.String() }

func (nextProjection) Run(*graph.Call) {}

// Launch does nothing.
func (nextProjection) Launch(*graph.DeviceCall) {}

// Bytes returns 0: the primary counts what it writes.
func (nextProjection) Bytes(graph.Cost) int { return 0 }

// VJP does for z what nextRead does for u.
func (k nextProjection) VJP(d *graph.Derivative) {
	others := d.TakeAccumulated(0)
	if others == nil {
		k.LinearOp.VJP(d)
		return
	}
	d.Make(0, heldGradient{projection: true, wantsW: d.Wants(1), wantsGain: d.Inputs() > 2 && d.Wants(2)}, others, d.Gradient(), d.Output())
}

// heldGradient is the gradient of a stream without what a read or a projection of it adds, which is
// still to be computed from its further inputs: the gradient of u, or that of z, and z. It does
// nothing: its output is its first input, which may be a heldGradient, too.
type heldGradient struct {
	graph.NoGradient
	projection, wantsW, wantsGain bool
}

func (k heldGradient) String() string {
	if k.projection {
		return fmt.Sprintf("HeldGradient(z, w %t, gain %t)", k.wantsW, k.wantsGain)
	}
	return "HeldGradient(u)"
}

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

// heldGradients are the gradients of u and of z that a stream's gradient holds, and z, nil: none;
// and which gradients of the projection's weights are wanted.
type heldGradients struct {
	du, dz, z         *gorgonia.Node
	wantsW, wantsGain bool
}

func heldIn(gradient *gorgonia.Node) (all heldGradients) {
	for {
		k, held := graph.PrimitiveOf(gradient).(heldGradient)
		if !held {
			return all
		}
		in := graph.Inputs(gradient)
		if k.projection {
			all.dz, all.z, all.wantsW, all.wantsGain = in[1], in[2], k.wantsW, k.wantsGain
		} else {
			all.du = in[1]
		}
		gradient = in[0]
	}
}

// mixNextGrad computes dh; its secondaries are dy, dc, dw and dgain. Inputs: the gradient of the
// stream, the stream that was made, h, y and c; at du the gradient of u; at dz the gradient of z, z
// and w; at gain the gain; and the addends. -1: there is none.
type mixNextGrad struct {
	graph.NoGradient
	of           mixNext
	du, dz, gain int
	addends      mixAddends
}

func (k mixNextGrad) String() string {
	return fmt.Sprintf("GradH of %v, du %t, dz %t", k.of, k.du >= 0, k.dz >= 0)
}

func (k mixNextGrad) FLOPs(c graph.Cost) int { // dh, dy and dc, what u adds to them, and what z does
	h, dc, flops := c.Signature(2), c.Secondary(1), 0
	read := k.of.readFLOPs(h)
	if k.du >= 0 {
		flops += (1 + dc) * read
	}
	if k.dz >= 0 {
		flops += (1 + c.Secondary(2)) * 2 * h.Size() * c.Signature(k.dz+2).Width()
	}
	return flops + (1+dc)*k.of.carryFLOPs(h, c.Signature(4)) + (c.Secondary(0)+dc)*read
}

// InPlace allows the addend's memory if dh is not computed in two steps.
func (k mixNextGrad) InPlace(i int) bool { return i == 0 || i == k.addends.h && k.dz < 0 }

func (k mixNextGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMixNextGrad, runMixNextGrad)
}

func runMixNextGrad[T kernel.Float](k mixNextGrad, c graph.CallOf[T]) {
	g := mixGrads[T](c, k.addends)
	g.Y, g.AddToY = c.SecondaryOut(0)
	g.C, g.AddToC = c.SecondaryOut(1)
	var projection kernel.MixProjectionGrads[T]
	if k.dz >= 0 {
		projection = kernel.MixProjectionGrads[T]{Of: mixProjection(k.of, c.In(k.dz+1), c, 2, k.dz+2, k.gain), DZ: c.In(k.dz)}
		projection.Grads.W, projection.Grads.AddToW = c.SecondaryOut(2)
		projection.Grads.Gain, projection.Grads.AddToGain = c.SecondaryOut(3)
	}
	graph.State[kernel.MixWrite[T]](c).BackwardNext(c.Pool(), g, c.In(0), c.In(k.du), c.In(1), c.In(2), c.In(3), c.In(4),
		k.of.params(c.Signature(2), c.Signature(4)), projection)
}
