package moe

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// routerLoss computes an auxiliary loss of a router's logits, a scalar: the balance, whose inputs
// are the logits and the dispatch, or the z-loss, whose input is the logits.
type routerLoss struct {
	balance bool
	topK    int
}

func (k routerLoss) String() string {
	if k.balance {
		return fmt.Sprintf("Balance(top=%d)", k.topK)
	}
	return "RouterZ"
}

// ReadsInts returns true for the dispatch.
func (routerLoss) ReadsInts(i int) bool { return i == 1 }

func (k routerLoss) Infer(in []graph.Signature) (graph.Signature, error) {
	return graph.Signature{DType: in[0].DType, Shape: tensor.ScalarShape()}, nil
}

func (k routerLoss) KeepsFloat32() bool { return true } // as is the gradient of the logits

func (k routerLoss) VJP(d *graph.Derivative) {
	if k.balance {
		d.Make(0, routerLossGrad{of: k}, d.Gradient(), d.Input(0), d.Input(1))
		return
	}
	d.Make(0, routerLossGrad{of: k}, d.Gradient(), d.Input(0))
}

func (k routerLoss) Run(c *graph.Call) {
	graph.Dispatch(c, k, runRouterLoss, runRouterLoss)
}

func runRouterLoss[T kernel.Float](k routerLoss, c graph.CallOf[T]) {
	losses, logits := graph.State[kernel.RouterLosses[T]](c), c.Signature(0)
	if k.balance {
		c.Out()[0] = T(losses.Balance(c.Pool(), c.In(0), newDispatch(c.Ints(1), k.topK, logits.Width())))
	} else {
		c.Out()[0] = T(losses.ZLoss(c.Pool(), c.In(0), logits.Leading(), logits.Width()))
	}
}

// routerLossGrad computes the gradient of the logits. Inputs: the gradient of the loss, the logits
// and, for the balance, the dispatch.
type routerLossGrad struct {
	graph.NoGradient
	of routerLoss
}

func (k routerLossGrad) String() string { return "GradLogits of " + k.of.String() }

func (k routerLossGrad) KeepsFloat32() bool { return true }

func (k routerLossGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runRouterLossGrad, runRouterLossGrad)
}

func runRouterLossGrad[T kernel.Float](k routerLossGrad, c graph.CallOf[T]) {
	losses, factor := graph.State[kernel.RouterLosses[T]](c), float64(c.In(0)[0])
	if k.of.balance {
		losses.BalanceGradient(c.Pool(), c.Out(), c.In(1), newDispatch(c.Ints(2), k.of.topK, c.Result().Width()), factor)
	} else {
		losses.ZLossGradient(c.Pool(), c.Out(), c.In(1), c.Result().Leading(), c.Result().Width(), factor)
	}
}
