package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// expertsGradW computes the gradient of w1, dW1_e = sum over the rows j of e of u_t(j)^T dh_j, from
// the inputs u, dh and dispatch; or, if second is true, of w2, dW2_e = sum of g_j a_j^T dy_t(j),
// from the inputs a, dy, dispatch and gates.
type expertsGradW struct {
	graph.NoGradient
	experts
	second bool
}

func (k expertsGradW) String() string {
	return "GradW of " + expertsProduct(k.second) + k.experts.String()
}

// expertsProduct names the experts' first or second product.
func expertsProduct(second bool) string {
	if second {
		return "ExpertsOut"
	}
	return "ExpertsHidden"
}

// FLOPs counts one multiply-add for each row and each entry of its expert's weight.
func (k expertsGradW) FLOPs(c graph.Cost) int {
	rows := c.Signature(0).Leading() // the rows of a; u has one row for each token
	if !k.second {
		rows *= k.topK
	}
	return 2 * rows * c.Result().Width()
}

func (k expertsGradW) Accumulates() bool { return true }

func (k expertsGradW) Run(c *graph.Call) {
	graph.Dispatch(c, k, runExpertsGradW, runExpertsGradW)
}

func runExpertsGradW[T kernel.Float](k expertsGradW, c graph.CallOf[T]) {
	run, d, sizes := graph.State[kernel.Experts[T]](c), k.dispatch(c.Ints(2)), k.sizes(c.Result(), k.second)
	if k.second {
		run.GradW2(c.Pool(), c.Out(), c.Operand(0), c.Operand(1), c.In(3), d, sizes, c.Accumulate())
	} else {
		run.GradW1(c.Pool(), c.Out(), c.Operand(0), c.Operand(1), d, sizes, c.Accumulate())
	}
}

// expertsGradBias computes the gradient of b1, db1_e = sum over the rows j of e of dh_j, from the
// inputs dh and dispatch; or, if second is true, of b2, db2_e = sum of g_j dy_t(j), from the inputs
// dy, dispatch and gates.
type expertsGradBias struct {
	graph.NoGradient
	experts
	second bool
}

func (k expertsGradBias) String() string {
	return "GradBias of " + expertsProduct(k.second) + k.experts.String()
}

func (k expertsGradBias) Accumulates() bool { return true }

func (k expertsGradBias) Run(c *graph.Call) {
	graph.Dispatch(c, k, runExpertsGradBias, runExpertsGradBias)
}

func runExpertsGradBias[T kernel.Float](k expertsGradBias, c graph.CallOf[T]) {
	run, d := graph.State[kernel.Experts[T]](c), k.dispatch(c.Ints(1))
	width := c.Result().Shape[1]
	if k.second {
		run.GradB2(c.Pool(), c.Out(), c.In(0), c.In(2), d, kernel.ExpertSizes{Width: width}, c.Accumulate())
	} else {
		run.GradB1(c.Pool(), c.Out(), c.In(0), d, kernel.ExpertSizes{Hidden: width}, c.Accumulate())
	}
}
