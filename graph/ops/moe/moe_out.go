package moe

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// expertsOut computes the second product of the experts, o_j = a_j W2_e(j) for the rows j of the
// dispatch, [T*k, D]; it is the primary of combined, which must be its only reader. Inputs: a, w2,
// dispatch, gates and, if biased, b2. Its VJP works with the gradient of combined.
type expertsOut struct{ experts }

func (k expertsOut) String() string { return "ExpertsOut" + k.experts.String() }

func (expertsOut) FLOPs(c graph.Cost) int { return 2 * c.Result().Size() * c.Signature(1).Shape[1] }

func (k expertsOut) Infer(in []graph.Signature) (graph.Signature, error) {
	return k.check(in, "w2", "FF, D", in[0].Leading(), in[0].Width())
}

func (k expertsOut) VJP(d *graph.Derivative) {
	if d.Wants(0) || d.Wants(3) {
		primary := k.gradHidden(d)
		d.SetFloat32(3, primary, 0, "GradGates of ExpertsOut") // like the gates
	}
	if d.Wants(1) {
		d.Make(1, expertsGradW{experts: k.experts, second: true}, d.Input(0), d.Gradient(), d.Input(2), d.Input(3))
	}
	if k.biased && d.Wants(4) {
		d.Make(4, expertsGradBias{experts: k.experts, second: true}, d.Gradient(), d.Input(2), d.Input(3))
	}
}

// gradHidden returns the gradient of a or, if nothing else reads a, of the h before it.
func (k expertsOut) gradHidden(d *graph.Derivative) *gorgonia.Node {
	inputs := gorgonia.Nodes{d.Gradient(), d.Input(1), d.Input(2), d.Input(3), d.Input(0)}
	if k.biased {
		inputs = append(inputs, d.Input(4))
	}
	a := d.FusibleInput(0)
	if a != nil {
		inputs = append(inputs, d.Recomputed(graph.Inputs(a)[0]))
	}
	return d.Make(0, expertsGradHidden{experts: k.experts, through: a != nil}, inputs...)
}

func (k expertsOut) Run(c *graph.Call) {
	graph.Dispatch(c, k, runExpertsOut, runExpertsOut)
}

func runExpertsOut[T kernel.Float](k expertsOut, c graph.CallOf[T]) {
	y, _ := c.SecondaryOut(0)
	graph.State[kernel.Experts[T]](c).Out(c.Pool(), y, c.Out(), c.Operand(0), c.Operand(1), c.In(4), c.In(3),
		k.dispatch(c.Ints(2)), k.sizes(c.Signature(1), true))
}

// combined is y_t = sum over the rows j of t of g_j (o_j + b2_e(j)), [T, D], computed by the run of
// o. Input: o.
type combined struct {
	graph.MadeByPrimary
	result graph.Signature
}

func (k combined) String() string { return fmt.Sprintf("Combined %v", k.result.Shape) }

func (k combined) Infer([]graph.Signature) (graph.Signature, error) { return k.result, nil }

func (k combined) VJP(d *graph.Derivative) { d.Set(0, d.Gradient()) }

// expertsGradHidden computes the gradient of a, [T*k, FF], or of h if it passes through the GELU;
// its secondary is the gradient of the gates. Inputs: dy, w2, dispatch, gates, a, b2 if biased, and
// h.
type expertsGradHidden struct {
	graph.NoGradient
	experts
	through bool
}

func (k expertsGradHidden) String() string {
	return fmt.Sprintf("GradX of ExpertsOut(%s, through=%t)", k.experts, k.through)
}

func (expertsGradHidden) FLOPs(c graph.Cost) int { // dy W2^T
	return 2 * c.Result().Size() * c.Signature(1).Shape[2]
}

func (k expertsGradHidden) Run(c *graph.Call) {
	graph.Dispatch(c, k, runExpertsGradHidden, runExpertsGradHidden)
}

func runExpertsGradHidden[T kernel.Float](k expertsGradHidden, c graph.CallOf[T]) {
	var b2, h []T
	if k.biased {
		b2 = c.In(5)
	}
	if k.through {
		h = c.In(c.Inputs() - 1)
	}
	dgates, _ := c.SecondaryOut(0)
	graph.State[kernel.Experts[T]](c).GradHidden(c.Pool(), c.Out(), dgates, c.Operand(0), c.Operand(1), b2, c.In(4), h, c.In(3),
		k.dispatch(c.Ints(2)), k.sizes(c.Signature(1), true))
}
