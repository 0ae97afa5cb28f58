package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
)

// expertsHidden computes the first product of the experts, h_j = u_t(j) W1_e(j) + b1_e(j) for the
// rows j of the dispatch, [T*k, FF]; it is the primary of expertsActivated. Inputs: u, w1, dispatch
// and, if biased, b1.
type expertsHidden struct{ experts }

func (k expertsHidden) String() string { return "ExpertsHidden" + k.experts.String() }

func (expertsHidden) FLOPs(c graph.Cost) int { return 2 * c.Result().Size() * c.Signature(1).Shape[1] }

func (k expertsHidden) Infer(in []graph.Signature) (graph.Signature, error) {
	return k.check(in, "w1", "D, FF", in[0].Leading()*k.topK, in[0].Width())
}

func (k expertsHidden) VJP(d *graph.Derivative) {
	dispatch := d.Input(2)
	if d.Wants(0) {
		rows := d.Apply(expertsGradU{experts: k.experts}, d.Gradient(), d.Input(1), dispatch)
		d.SetSecondary(0, rows, 0, "GradU of ExpertsHidden")
	}
	if d.Wants(1) {
		d.Make(1, expertsGradW{experts: k.experts, second: false}, d.Input(0), d.Gradient(), dispatch)
	}
	if k.biased && d.Wants(3) {
		d.Make(3, expertsGradBias{experts: k.experts, second: false}, d.Gradient(), dispatch)
	}
}

func (k expertsHidden) Run(c *graph.Call) {
	graph.Dispatch(c, k, runExpertsHidden, runExpertsHidden)
}

func runExpertsHidden[T kernel.Float](k expertsHidden, c graph.CallOf[T]) {
	a, _ := c.SecondaryOut(0)
	graph.State[kernel.Experts[T]](c).Hidden(c.Pool(), c.Out(), a, c.Operand(0), c.Operand(1), c.In(3),
		k.dispatch(c.Ints(2)), k.sizes(c.Signature(1), false))
}

// expertsActivated is a = gelu(h), [T*k, FF], computed by the run of h, in bfloat16 from the sums
// before they are rounded to h. A pass over h would give other bits, so this is no
// graph.Recomputable. Input: h.
type expertsActivated struct {
	graph.MadeByPrimary
	gelu elementwise.Activation
}

func (k expertsActivated) String() string { return "Activated " + k.gelu.String() }

func (expertsActivated) Infer(in []graph.Signature) (graph.Signature, error) { return in[0], nil }

func (k expertsActivated) VJP(d *graph.Derivative) {
	if g, ok := graph.PrimitiveOf(d.Gradient()).(expertsGradHidden); ok && g.through {
		d.Set(0, d.Gradient())
		return
	}
	k.gelu.VJP(d)
}

// expertsGradU computes the gradient of u from each row, [T*k, D]; its secondary is their sum for
// each token, the gradient of u. Inputs: dh, w1, dispatch.
type expertsGradU struct {
	graph.NoGradient
	experts
}

func (k expertsGradU) String() string { return "GradX of ExpertsHidden" + k.experts.String() }

func (expertsGradU) FLOPs(c graph.Cost) int { // dh W1^T
	return 2 * c.Result().Size() * c.Signature(1).Shape[2]
}

func (k expertsGradU) Infer(in []graph.Signature) (graph.Signature, error) {
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(in[0].Leading(), in[1].Shape[1])}, nil
}

func (k expertsGradU) Run(c *graph.Call) {
	graph.Dispatch(c, k, runExpertsGradU, runExpertsGradU)
}

func runExpertsGradU[T kernel.Float](k expertsGradU, c graph.CallOf[T]) {
	du, accumulate := c.SecondaryOut(0)
	graph.State[kernel.Experts[T]](c).GradU(c.Pool(), du, c.Out(), c.Operand(0), c.Operand(1),
		k.dispatch(c.Ints(2)), k.sizes(c.Signature(1), false), accumulate)
}
