package mix

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/norm"
)

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
	k, inputs := mixWrite{mixing: mixing{m}, reads: o.Read}, gorgonia.Nodes{h, y, c}
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
