package mix

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
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

// VJP leaves the gradients to the primary, which makes one pass of them and its own. Where that
// cannot be, it makes the gradients of a read.
func (k nextRead) VJP(d *graph.Derivative) {
	if !d.Hold(0, readTerm{du: d.Gradient()}) {
		k.mixRead.vjp(d)
	}
}

// nextProjection is z, computed by the run of its primary. Inputs: the stream, w and the gain.
type nextProjection struct{ norm.LinearOp }

func (k nextProjection) String() string { return "Next" + k.LinearOp.String() }

func (nextProjection) Run(*graph.Call) {}

// Launch does nothing.
func (nextProjection) Launch(*graph.DeviceCall) {}

// Bytes returns 0: the primary counts what it writes.
func (nextProjection) Bytes(graph.Cost) int { return 0 }

// VJP leaves the gradients to the primary, as nextRead does. Where that cannot be, it makes the
// gradients of a LinearOp.
func (k nextProjection) VJP(d *graph.Derivative) {
	if !d.Hold(0, projectionTerm{d.Gradient(), d.Output(), d.Wants(1), d.Inputs() > 2 && d.Wants(2)}) {
		k.LinearOp.VJP(d)
	}
}

// readTerm is what a read of a stream leaves to the stream's gradient: the gradient of u, and the
// coefficients c of the read. If c is nil, it read by the write's coefficients, and leaves their
// gradient, too.
type readTerm struct {
	du, c *gorgonia.Node
	mixed bool // c carries the rows, too
}

// projectionTerm is what a projection of a stream leaves: the gradient of z, z, and which gradients
// of the projection's weights are wanted.
type projectionTerm struct {
	dz, z             *gorgonia.Node
	wantsW, wantsGain bool
}

// heldTerms are the terms that readers have left to a write's gradient; the zero value of a term
// means that there is none.
type heldTerms struct {
	read       readTerm
	projection projectionTerm
}

func heldTermsOf(terms []any) (all heldTerms) {
	for _, term := range terms {
		switch term := term.(type) {
		case readTerm:
			all.read = term
		case projectionTerm:
			all.projection = term
		}
	}
	return all
}
