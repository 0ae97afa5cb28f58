package graph

import (
	"github.com/residua-go/residua/graph/kernel"
)

// expertsHidden is the first product of the experts, h_j = u_t(j) W1_e(j) + b1_e(j) for the
// rows j of the dispatch, [T*k, FF]; it leads expertsActivated. Inputs: u, w1, dispatch and,
// where biased, b1.
type expertsHidden struct{ experts }

func (k expertsHidden) String() string { return "ExpertsHidden" + k.experts.String() }

func (expertsHidden) FLOPs(c Cost) int { return 2 * c.Result().Size() * c.Signature(1).Shape[1] }

func (k expertsHidden) Infer(in []Signature) (Signature, error) {
	return k.check(in, "w1", "D, FF", in[0].Leading()*k.topK, in[0].Width())
}

func (k expertsHidden) VJP(d *Derivative) {
	dispatch := d.Input(2)
	if d.Wants(0) {
		rows := d.Apply(expertsGradU{experts: k.experts}, d.Gradient(), d.Input(1), dispatch)
		d.SetSecondary(0, rows, 0, "GradU of ExpertsHidden")
	}
	if d.Wants(1) {
		d.Set(1, d.Apply(expertsGradW{experts: k.experts, w: d.Signature(1), second: false}, d.Input(0), d.Gradient(), dispatch))
	}
	if k.biased && d.Wants(3) {
		d.Set(3, d.Apply(expertsGradBias{experts: k.experts, bias: d.Signature(3), second: false}, d.Gradient(), dispatch))
	}
}

func (k expertsHidden) Run(c *Call) error {
	return Dispatch(c, k, runExpertsHidden[float32], runExpertsHidden[float64])
}

func runExpertsHidden[T kernel.Float](k expertsHidden, c *Call) error {
	a, _ := SecondaryOut[T](c, 0)
	State[kernel.Experts[T]](c).Hidden(c.Pool(), Out[T](c), a, In[T](c, 0), In[T](c, 1), In[T](c, 3),
		k.dispatch(c, 2), k.sizes(c.Signature(1), false))
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

func (expertsGradU) FLOPs(c Cost) int { // dh W1^T
	return 2 * c.Result().Size() * c.Signature(1).Shape[2]
}

func (k expertsGradU) Infer(in []Signature) (Signature, error) {
	return Signature{in[0].DType, WithTokens(in[0].Leading(), in[1].Shape[1])}, nil
}

func (k expertsGradU) Run(c *Call) error {
	return Dispatch(c, k, runExpertsGradU[float32], runExpertsGradU[float64])
}

func runExpertsGradU[T kernel.Float](k expertsGradU, c *Call) error {
	du, accumulate := SecondaryOut[T](c, 0)
	State[kernel.Experts[T]](c).GradU(c.Pool(), du, Out[T](c), In[T](c, 0), In[T](c, 1),
		k.dispatch(c, 2), k.sizes(c.Signature(1), false), accumulate)
	return nil
}
