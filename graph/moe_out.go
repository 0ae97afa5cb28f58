package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// expertsOut is the second product of the experts, o_j = a_j W2_e(j) for the rows j of the
// dispatch, [T*k, D]; it leads combined, which alone may read it. Inputs: a, w2, dispatch,
// gates and, where biased, b2. Its derivative works on the gradient of combined.
type expertsOut struct{ experts }

func (k expertsOut) String() string { return "ExpertsOut" + k.experts.String() }

func (expertsOut) flops(c cost) int { return 2 * c.out().size() * c.in(1).Shape[1] }

func (k expertsOut) Infer(in []Signature) (Signature, error) {
	return k.check(in, "w2", "FF, D", in[0].leading(), in[0].width())
}

func (k expertsOut) Differentiable(i int) bool { return i != 2 }

func (k expertsOut) VJP(d *Derivative) {
	if d.wanted[0] || d.wanted[3] {
		leader := k.gradHidden(d)
		d.set(0, leader)
		if d.wanted[3] {
			gates := d.b.companion(leader, 0, "GradGates of ExpertsOut", d.op.in[3].Shape, nil)
			keepFull(gorgonia.Nodes{gates}) // as the gates are
			d.set(3, gates)
		}
	}
	if d.wanted[1] {
		d.set(1, d.b.apply(expertsGradW{k.experts, d.op.in[1], true}, d.inputs(0), d.grad, d.inputs(2), d.inputs(3)))
	}
	if k.biased && d.wanted[4] {
		d.set(4, d.b.apply(expertsGradBias{k.experts, d.op.in[4], true}, d.grad, d.inputs(2), d.inputs(3)))
	}
}

// gradHidden is the gradient of a, or, where only this reads it, that of the h before it.
func (k expertsOut) gradHidden(d *Derivative) *gorgonia.Node {
	inputs := gorgonia.Nodes{d.grad, d.inputs(1), d.inputs(2), d.inputs(3), d.inputs(0)}
	if k.biased {
		inputs = append(inputs, d.inputs(4))
	}
	a := d.only(0)
	if a != nil {
		inputs = append(inputs, d.value(children(a)[0]))
	}
	return d.b.apply(expertsGradHidden{k.experts, a != nil}, inputs...)
}

func (k expertsOut) Run(c *Call) error {
	if c.double() {
		return runExpertsOut[float64](k, c)
	}
	return runExpertsOut[float32](k, c)
}

func runExpertsOut[T kernel.Float](k expertsOut, c *Call) error {
	y, _ := companionOut[T](c, 0)
	state[kernel.Experts[T]](c).Out(c.pool(), y, out[T](c), in[T](c, 0), in[T](c, 1), optional[T](c, 4), in[T](c, 3),
		k.dispatch(c, 2), k.sizes(c.op.in[1], true))
	return nil
}

// combined is y_t = sum over the rows j of t of g_j (o_j + b2_e(j)), [T, D], made by the
// run of the rows o. Input: o.
type combined struct{ result Signature }

func (k combined) String() string { return fmt.Sprintf("Combined %v", k.result.Shape) }

func (k combined) Infer([]Signature) (Signature, error) { return k.result, nil }

func (k combined) Differentiable(int) bool { return true }

func (k combined) VJP(d *Derivative) { d.set(0, d.grad) }

func (k combined) Run(*Call) error { return nil }

// expertsGradHidden is the gradient of a, [T*k, FF], or of h where it goes through the GELU;
// its companion is that of the gates. Inputs: dy, w2, dispatch, gates, a, b2 where biased,
// and h.
type expertsGradHidden struct {
	experts
	through bool
}

func (k expertsGradHidden) String() string {
	return fmt.Sprintf("GradX of ExpertsOut(%s, through=%t)", k.experts, k.through)
}

func (expertsGradHidden) flops(c cost) int { // dy W2^T
	return 2 * c.out().size() * c.in(1).Shape[2]
}

func (k expertsGradHidden) Infer(in []Signature) (Signature, error) { return in[4], nil }

func (k expertsGradHidden) Differentiable(int) bool { return false }

func (k expertsGradHidden) VJP(*Derivative) {}

func (k expertsGradHidden) Run(c *Call) error {
	if c.double() {
		return runExpertsGradHidden[float64](k, c)
	}
	return runExpertsGradHidden[float32](k, c)
}

func runExpertsGradHidden[T kernel.Float](k expertsGradHidden, c *Call) error {
	var b2, h []T
	if k.biased {
		b2 = in[T](c, 5)
	}
	if k.through {
		h = in[T](c, len(c.args)-1)
	}
	dgates, _ := companionOut[T](c, 0)
	state[kernel.Experts[T]](c).GradHidden(c.pool(), out[T](c), dgates, in[T](c, 0), in[T](c, 1), b2, in[T](c, 4), h, in[T](c, 3),
		k.dispatch(c, 2), k.sizes(c.op.in[1], true))
	return nil
}
