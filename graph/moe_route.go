package graph

import (
	"fmt"
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// routerLogits is the router's product, u_t router, [T, E]: a Linear of full precision, since
// the choices hang on small differences (Fedus et al. 2021, arXiv 2101.03961, section 2.4,
// "selective precision").
type routerLogits struct{ linear }

func (k routerLogits) String() string { return "RouterLogits of " + k.linear.String() }

func (k routerLogits) fullPrecision() bool { return true }

// route chooses the experts of each token and makes their gates, [T, k], from the router's
// logits [T, E]; it leads dispatch.
type route struct{ topK int }

func (k route) String() string { return fmt.Sprintf("Route(top=%d)", k.topK) }

func (k route) signature(in []signature) (signature, error) {
	if experts := in[0].width(); k.topK < 1 || k.topK > experts {
		return signature{}, errors.Errorf("top-k: want 1 to %d, the number of experts, got %d", experts, k.topK)
	}
	return signature{in[0].dtype, withTokens(in[0].leading(), k.topK)}, wantFloats(in)
}

func (k route) differentiable(int) bool { return true }

func (k route) fullPrecision() bool { return true } // so is the gradient of the logits

func (k route) diff(d *derivative) {
	if d.wanted[0] {
		d.set(0, d.b.apply(routeGrad{k, d.op.in[0]}, d.grad, d.inputs(0)))
	}
}

func (k route) run(c *call) error {
	if c.double() {
		return runRoute[float64](k, c)
	}
	return runRoute[float32](k, c)
}

// routeState is the kernel, and a place for the choices where no node wants them: in a
// copy of the gates alone, made to recompute them.
type routeState[T kernel.Float] struct {
	kernel.Route[T]
	dispatch []int32
}

func runRoute[T kernel.Float](k route, c *call) error {
	s := state[routeState[T]](c)
	tokens, experts := c.op.in[0].leading(), c.op.in[0].width()
	memory := dispatchOut(c)
	if memory == nil {
		if s.dispatch == nil {
			s.dispatch = make([]int32, kernel.DispatchSize(tokens, k.topK, experts))
		}
		memory = s.dispatch
	}
	s.Forward(c.pool(), out[T](c), in[T](c, 0), kernel.NewDispatch(memory, tokens, k.topK, experts))
	return nil
}

// dispatchOut is the memory of the route's companion, nil if that was not built.
func dispatchOut(c *call) []int32 {
	if len(c.op.companions) == 0 || c.op.companions[0] == nil {
		return nil
	}
	other := c.op.companions[0]
	other.buffer.ensure(other.out)
	return unsafe.Slice((*int32)(other.buffer.data), other.out.size())
}

// routeGrad is the gradient of the logits. Inputs: dgates, logits.
type routeGrad struct {
	route
	logits signature
}

func (k routeGrad) String() string { return "GradLogits of " + k.route.String() }

func (k routeGrad) signature([]signature) (signature, error) { return k.logits, nil }

func (k routeGrad) differentiable(int) bool { return false }

func (k routeGrad) diff(*derivative) {}

func (k routeGrad) run(c *call) error {
	if c.double() {
		return runRouteGrad[float64](k, c)
	}
	return runRouteGrad[float32](k, c)
}

func runRouteGrad[T kernel.Float](k routeGrad, c *call) error {
	state[kernel.Route[T]](c).Backward(c.pool(), out[T](c), in[T](c, 0), in[T](c, 1), k.logits.leading(), k.topK, k.logits.width())
	return nil
}

// dispatch is a kernel.Dispatch, made by the gates' own run. Input: the gates.
type dispatch struct{ size int }

func (k dispatch) String() string { return fmt.Sprintf("Dispatch(%d)", k.size) }

func (k dispatch) signature([]signature) (signature, error) {
	return signature{tensor.Int32, tensor.Shape{k.size}}, nil
}

func (k dispatch) differentiable(int) bool { return false }

func (k dispatch) diff(*derivative) {}

func (k dispatch) run(*call) error { return nil }

// expertCounts is the number of rows of each expert, [E] Int32. Input: the dispatch.
type expertCounts struct{ tokens, experts, topK int }

func (k expertCounts) String() string {
	return fmt.Sprintf("ExpertCounts(top=%d, of=%d)", k.topK, k.experts)
}

func (k expertCounts) signature([]signature) (signature, error) {
	return signature{tensor.Int32, tensor.Shape{k.experts}}, nil
}

func (k expertCounts) differentiable(int) bool { return false }

func (k expertCounts) diff(*derivative) {}

func (k expertCounts) run(c *call) error {
	d := kernel.NewDispatch(in[int32](c, 0), k.tokens, k.topK, k.experts)
	d.Counts(out[int32](c))
	return nil
}
