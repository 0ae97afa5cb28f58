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
	return Signature{in[0].DType, tensor.ScalarShape()}, wantFloats(in[:1])
}

func (k routerLoss) Differentiable(i int) bool { return i == 0 }

func (k routerLoss) fullPrecision() bool { return true } // so is the gradient of the logits

func (k routerLoss) VJP(d *Derivative) {
	if !d.wanted[0] {
		return
	}
	if k.balance {
		d.set(0, d.b.apply(routerLossGrad{k, d.op.in[0]}, d.grad, d.inputs(0), d.inputs(1)))
		return
	}
	d.set(0, d.b.apply(routerLossGrad{k, d.op.in[0]}, d.grad, d.inputs(0)))
}

func (k routerLoss) Run(c *Call) error {
	if c.double() {
		return runRouterLoss[float64](k, c)
	}
	return runRouterLoss[float32](k, c)
}

func runRouterLoss[T kernel.Float](k routerLoss, c *Call) error {
	losses, logits := state[kernel.RouterLosses[T]](c), c.op.in[0]
	if k.balance {
		out[T](c)[0] = T(losses.Balance(c.pool(), in[T](c, 0), newDispatch(in[int32](c, 1), k.topK, logits.width())))
	} else {
		out[T](c)[0] = T(losses.ZLoss(c.pool(), in[T](c, 0), logits.leading(), logits.width()))
	}
	return nil
}

// routerLossGrad is the gradient of the logits. Inputs: that of the loss, the logits and,
// for the balance, the dispatch.
type routerLossGrad struct {
	routerLoss
	logits Signature
}

func (k routerLossGrad) String() string { return "GradLogits of " + k.routerLoss.String() }

func (k routerLossGrad) Infer([]Signature) (Signature, error) { return k.logits, nil }

func (k routerLossGrad) Differentiable(int) bool { return false }

func (k routerLossGrad) VJP(*Derivative) {}

func (k routerLossGrad) Run(c *Call) error {
	if c.double() {
		return runRouterLossGrad[float64](k, c)
	}
	return runRouterLossGrad[float32](k, c)
}

func runRouterLossGrad[T kernel.Float](k routerLossGrad, c *Call) error {
	losses, factor := state[kernel.RouterLosses[T]](c), float64(in[T](c, 0)[0])
	if k.balance {
		losses.BalanceGradient(c.pool(), out[T](c), in[T](c, 1), newDispatch(in[int32](c, 2), k.topK, k.logits.width()), factor)
	} else {
		losses.ZLossGradient(c.pool(), out[T](c), in[T](c, 1), k.logits.leading(), k.logits.width(), factor)
	}
	return nil
}
