package moe

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// expertsOut is the second product of the experts, o_j = a_j W2_e(j) for the rows j of the
// dispatch, [T*k, D]; it leads combined, which alone may read it. Inputs: a, w2, dispatch,
// gates and, where biased, b2. Its derivative works on the gradient of combined.
type expertsOut struct{ experts }

func (k expertsOut) String() string { return "ExpertsOut" + k.experts.String() }

func (expertsOut) FLOPs(c graph.Cost) int { return 2 * c.Result().Size() * c.Signature(1).Shape[1] }

func (k expertsOut) Infer(in []graph.Signature) (graph.Signature, error) {
	return k.check(in, "w2", "FF, D", in[0].Leading(), in[0].Width())
}

func (k expertsOut) VJP(d *graph.Derivative) {
	if d.Wants(0) || d.Wants(3) {
		primary := k.gradHidden(d)
		d.Set(0, primary)
		if d.Wants(3) {
			d.SetFloat32(3, primary, 0, "GradGates of ExpertsOut") // as the gates are
		}
	}
	if d.Wants(1) {
		d.Set(1, d.Apply(expertsGradW{experts: k.experts, w: d.Signature(1), second: true}, d.Input(0), d.Gradient(), d.Input(2), d.Input(3)))
	}
	if k.biased && d.Wants(4) {
		d.Set(4, d.Apply(expertsGradBias{experts: k.experts, bias: d.Signature(4), second: true}, d.Gradient(), d.Input(2), d.Input(3)))
	}
}

// gradHidden is the gradient of a, or, where only this reads it, that of the h before it.
func (k expertsOut) gradHidden(d *graph.Derivative) *gorgonia.Node {
	inputs := gorgonia.Nodes{d.Gradient(), d.Input(1), d.Input(2), d.Input(3), d.Input(0)}
	if k.biased {
		inputs = append(inputs, d.Input(4))
	}
	a := d.FusibleInput(0)
	if a != nil {
		inputs = append(inputs, d.Recomputed(graph.Inputs(a)[0]))
	}
	return d.Apply(expertsGradHidden{experts: k.experts, through: a != nil}, inputs...)
}

func (k expertsOut) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runExpertsOut[float32], runExpertsOut[float64])
}

func runExpertsOut[T kernel.Float](k expertsOut, c *graph.Call) error {
	y, _ := graph.SecondaryOut[T](c, 0)
	graph.State[kernel.Experts[T]](c).Out(c.Pool(), y, graph.Out[T](c), graph.In[T](c, 0), graph.In[T](c, 1), graph.In[T](c, 4), graph.In[T](c, 3),
		k.dispatch(c, 2), k.sizes(c.Signature(1), true))
	return nil
}

// combined is y_t = sum over the rows j of t of g_j (o_j + b2_e(j)), [T, D], made by the
// run of the rows o. Input: o.
type combined struct{ result graph.Signature }

func (k combined) String() string { return fmt.Sprintf("Combined %v", k.result.Shape) }

func (k combined) Infer([]graph.Signature) (graph.Signature, error) { return k.result, nil }

func (k combined) VJP(d *graph.Derivative) { d.Set(0, d.Gradient()) }

func (k combined) Run(*graph.Call) error { return nil }

// expertsGradHidden is the gradient of a, [T*k, FF], or of h where it goes through the GELU;
// its secondary is that of the gates. Inputs: dy, w2, dispatch, gates, a, b2 where biased,
// and h.
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

func (k expertsGradHidden) Infer(in []graph.Signature) (graph.Signature, error) { return in[4], nil }

func (k expertsGradHidden) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runExpertsGradHidden[float32], runExpertsGradHidden[float64])
}

func runExpertsGradHidden[T kernel.Float](k expertsGradHidden, c *graph.Call) error {
	var b2, h []T
	if k.biased {
		b2 = graph.In[T](c, 5)
	}
	if k.through {
		h = graph.In[T](c, c.Inputs()-1)
	}
	dgates, _ := graph.SecondaryOut[T](c, 0)
	graph.State[kernel.Experts[T]](c).GradHidden(c.Pool(), graph.Out[T](c), dgates, graph.In[T](c, 0), graph.In[T](c, 1), b2, graph.In[T](c, 4), h, graph.In[T](c, 3),
		k.dispatch(c, 2), k.sizes(c.Signature(1), true))
	return nil
}
