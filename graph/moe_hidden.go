package graph

import (
	"github.com/residua-go/residua/graph/kernel"
)

// expertsHidden is the first product of the experts, h_j = u_t(j) W1_e(j) + b1_e(j) for the
// rows j of the dispatch, [T*k, FF]; it leads expertsActivated. Inputs: u, w1, dispatch and,
// where biased, b1.
type expertsHidden struct{ experts }

func (k expertsHidden) String() string { return "ExpertsHidden" + k.experts.String() }

func (expertsHidden) flops(c cost) int { return 2 * c.out().size() * c.in(1).Shape[1] }

func (k expertsHidden) Infer(in []Signature) (Signature, error) {
	return k.check(in, "w1", "D, FF", in[0].leading()*k.topK, in[0].width())
}

func (k expertsHidden) Differentiable(i int) bool { return i != 2 }

func (k expertsHidden) VJP(d *Derivative) {
	dispatch := d.Input(2)
	if d.Wants(0) {
		rows := d.b.Apply(expertsGradU{experts: k.experts}, d.Gradient(), d.Input(1), dispatch)
		d.Set(0, d.b.secondary(rows, 0, "GradU of ExpertsHidden", d.op.in[0].Shape, nil))
	}
	if d.Wants(1) {
		d.Set(1, d.b.Apply(expertsGradW{experts: k.experts, w: d.op.in[1], second: false}, d.Input(0), d.Gradient(), dispatch))
	}
	if k.biased && d.Wants(3) {
		d.Set(3, d.b.Apply(expertsGradBias{experts: k.experts, bias: d.op.in[3], second: false}, d.Gradient(), dispatch))
	}
}

func (k expertsHidden) Run(c *Call) error {
	if c.Double() {
		return runExpertsHidden[float64](k, c)
	}
	return runExpertsHidden[float32](k, c)
}

func runExpertsHidden[T kernel.Float](k expertsHidden, c *Call) error {
	a, _ := secondaryOut[T](c, 0)
	State[kernel.Experts[T]](c).Hidden(c.Pool(), Out[T](c), a, In[T](c, 0), In[T](c, 1), optional[T](c, 3),
		k.dispatch(c, 2), k.sizes(c.op.in[1], false))
	return nil
}

// expertsActivated is a = gelu(h), [T*k, FF], made by h's own run. Input: h.
type expertsActivated struct{ activated }

func (k expertsActivated) VJP(d *Derivative) {
	if op := opOf(d.Gradient()); op != nil {
		if g, ok := op.Primitive.(expertsGradHidden); ok && g.through {
			d.Set(0, d.Gradient())
			return
		}
	}
	k.gelu.VJP(d)
}

// expertsGradU is the gradient of u from each row, [T*k, D]; its secondary is their sum, the
// gradient of u. Inputs: dh, w1, dispatch.
type expertsGradU struct {
	NoGradient
	experts
}

func (k expertsGradU) String() string { return "GradX of ExpertsHidden" + k.experts.String() }

func (expertsGradU) flops(c cost) int { // dh W1^T
	return 2 * c.out().size() * c.in(1).Shape[2]
}

func (k expertsGradU) Infer(in []Signature) (Signature, error) {
	return Signature{in[0].DType, withTokens(in[0].leading(), in[1].Shape[1])}, nil
}

func (k expertsGradU) Run(c *Call) error {
	if c.Double() {
		return runExpertsGradU[float64](k, c)
	}
	return runExpertsGradU[float32](k, c)
}

func runExpertsGradU[T kernel.Float](k expertsGradU, c *Call) error {
	du, accumulate := secondaryOut[T](c, 0)
	State[kernel.Experts[T]](c).GradU(c.Pool(), du, Out[T](c), In[T](c, 0), In[T](c, 1),
		k.dispatch(c, 2), k.sizes(c.op.in[1], false), accumulate)
	return nil
}
