package moe

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// routerLoss is an auxiliary loss of a router's logits, a scalar: the balance, whose
// inputs are the logits and the dispatch, or the z-loss of the logits.
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

func (k routerLoss) Infer(in []graph.Signature) (graph.Signature, error) {
	return graph.Signature{DType: in[0].DType, Shape: tensor.ScalarShape()}, graph.WantFloats(in[:1])
}

func (k routerLoss) KeepsFloat32() bool { return true } // so is the gradient of the logits

func (k routerLoss) VJP(d *graph.Derivative) {
	if !d.Wants(0) {
		return
	}
	if k.balance {
		d.Set(0, d.Apply(routerLossGrad{of: k, logits: d.Signature(0)}, d.Gradient(), d.Input(0), d.Input(1)))
		return
	}
	d.Set(0, d.Apply(routerLossGrad{of: k, logits: d.Signature(0)}, d.Gradient(), d.Input(0)))
}

func (k routerLoss) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runRouterLoss[float32], runRouterLoss[float64])
}

func runRouterLoss[T kernel.Float](k routerLoss, c *graph.Call) error {
	losses, logits := graph.State[kernel.RouterLosses[T]](c), c.Signature(0)
	if k.balance {
		graph.Out[T](c)[0] = T(losses.Balance(c.Pool(), graph.In[T](c, 0), newDispatch(graph.In[int32](c, 1), k.topK, logits.Width())))
	} else {
		graph.Out[T](c)[0] = T(losses.ZLoss(c.Pool(), graph.In[T](c, 0), logits.Leading(), logits.Width()))
	}
	return nil
}

// routerLossGrad is the gradient of the logits. Inputs: that of the loss, the logits and,
// for the balance, the dispatch.
type routerLossGrad struct {
	graph.NoGradient
	of     routerLoss
	logits graph.Signature
}

func (k routerLossGrad) String() string { return "GradLogits of " + k.of.String() }

func (k routerLossGrad) Infer([]graph.Signature) (graph.Signature, error) { return k.logits, nil }

func (k routerLossGrad) KeepsFloat32() bool { return true }

func (k routerLossGrad) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runRouterLossGrad[float32], runRouterLossGrad[float64])
}

func runRouterLossGrad[T kernel.Float](k routerLossGrad, c *graph.Call) error {
	losses, factor := graph.State[kernel.RouterLosses[T]](c), float64(graph.In[T](c, 0)[0])
	if k.of.balance {
		losses.BalanceGradient(c.Pool(), graph.Out[T](c), graph.In[T](c, 1), newDispatch(graph.In[int32](c, 2), k.of.topK, k.logits.Width()), factor)
	} else {
		losses.ZLossGradient(c.Pool(), graph.Out[T](c), graph.In[T](c, 1), k.logits.Leading(), k.logits.Width(), factor)
	}
	return nil
}
