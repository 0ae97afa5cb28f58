package graph

import (
	"fmt"

	"gorgonia.org/tensor"

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

func (k routerLoss) Infer(in []Signature) (Signature, error) {
	return Signature{in[0].DType, tensor.ScalarShape()}, WantFloats(in[:1])
}

func (k routerLoss) FullPrecision() bool { return true } // so is the gradient of the logits

func (k routerLoss) VJP(d *Derivative) {
	if !d.Wants(0) {
		return
	}
	if k.balance {
		d.Set(0, d.Apply(routerLossGrad{of: k, logits: d.Signature(0)}, d.Gradient(), d.Input(0), d.Input(1)))
		return
	}
	d.Set(0, d.Apply(routerLossGrad{of: k, logits: d.Signature(0)}, d.Gradient(), d.Input(0)))
}

func (k routerLoss) Run(c *Call) error {
	return Dispatch(c, k, runRouterLoss[float32], runRouterLoss[float64])
}

func runRouterLoss[T kernel.Float](k routerLoss, c *Call) error {
	losses, logits := State[kernel.RouterLosses[T]](c), c.Signature(0)
	if k.balance {
		Out[T](c)[0] = T(losses.Balance(c.Pool(), In[T](c, 0), newDispatch(In[int32](c, 1), k.topK, logits.Width())))
	} else {
		Out[T](c)[0] = T(losses.ZLoss(c.Pool(), In[T](c, 0), logits.Leading(), logits.Width()))
	}
	return nil
}

// routerLossGrad is the gradient of the logits. Inputs: that of the loss, the logits and,
// for the balance, the dispatch.
type routerLossGrad struct {
	NoGradient
	of     routerLoss
	logits Signature
}

func (k routerLossGrad) String() string { return "GradLogits of " + k.of.String() }

func (k routerLossGrad) Infer([]Signature) (Signature, error) { return k.logits, nil }

func (k routerLossGrad) FullPrecision() bool { return true }

func (k routerLossGrad) Run(c *Call) error {
	return Dispatch(c, k, runRouterLossGrad[float32], runRouterLossGrad[float64])
}

func runRouterLossGrad[T kernel.Float](k routerLossGrad, c *Call) error {
	losses, factor := State[kernel.RouterLosses[T]](c), float64(In[T](c, 0)[0])
	if k.of.balance {
		losses.BalanceGradient(c.Pool(), Out[T](c), In[T](c, 1), newDispatch(In[int32](c, 2), k.of.topK, k.logits.Width()), factor)
	} else {
		losses.ZLossGradient(c.Pool(), Out[T](c), In[T](c, 1), k.logits.Leading(), k.logits.Width(), factor)
	}
	return nil
}
