package moe

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/linear"
)

// routerLogits computes the router's product, u_t router, [T, E]: a linear map in full precision,
// since small differences decide the choices (Fedus et al. 2021, arXiv 2101.03961, section 2.4,
// "selective precision").
type routerLogits struct{ linear.Product }

func (k routerLogits) String() string { return "RouterLogits of " + k.Product.String() }

func (k routerLogits) KeepsFloat32() bool { return true }

// route chooses the experts of each token and computes their gates, [T, k], from the router's
// logits [T, E]; it is the primary of dispatch.
type route struct {
	topK int
	raw  bool // use the probabilities themselves as gates
}

func (k route) String() string {
	if k.raw {
		return fmt.Sprintf("RouteRaw(top=%d)", k.topK)
	}
	return fmt.Sprintf("Route(top=%d)", k.topK)
}

func (k route) Infer(in []graph.Signature) (graph.Signature, error) {
	if experts := in[0].Width(); k.topK < 1 || k.topK > experts {
		return graph.Signature{}, errors.Errorf("top-k: want 1 to %d, the number of experts, got %d", experts, k.topK)
	}
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(in[0].Leading(), k.topK)}, nil
}

func (k route) KeepsFloat32() bool { return true } // as is the gradient of the logits

func (k route) VJP(d *graph.Derivative) {
	d.Make(0, routeGrad{of: k}, d.Gradient(), d.Input(0))
}

func (k route) Run(c *graph.Call) {
	graph.Dispatch(c, k, runRoute, runRoute)
}

// routeState holds the kernel, and memory for the choices if no node takes them: a copy of the
// gates made for recomputation has no dispatch.
type routeState[T kernel.Float] struct {
	kernel.Route[T]
	dispatch []int32
}

func runRoute[T kernel.Float](k route, c graph.CallOf[T]) {
	s := graph.State[routeState[T]](c)
	tokens, experts := c.Signature(0).Leading(), c.Signature(0).Width()
	memory := c.SecondaryInts(0)
	if memory == nil {
		if s.dispatch == nil {
			s.dispatch = make([]int32, kernel.DispatchSize(tokens, k.topK, experts))
		}
		memory = s.dispatch
	}
	s.Raw = k.raw
	s.Forward(c.Pool(), c.Out(), c.In(0), kernel.NewDispatch(memory, tokens, k.topK, experts))
}

// routeGrad computes the gradient of the logits. Inputs: dgates, logits.
type routeGrad struct {
	graph.NoGradient
	of route
}

func (k routeGrad) String() string { return "GradLogits of " + k.of.String() }

func (k routeGrad) KeepsFloat32() bool { return true }

func (k routeGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runRouteGrad, runRouteGrad)
}

func runRouteGrad[T kernel.Float](k routeGrad, c graph.CallOf[T]) {
	run := graph.State[kernel.Route[T]](c)
	run.Raw = k.of.raw
	run.Backward(c.Pool(), c.Out(), c.In(0), c.In(1), c.Result().Leading(), k.of.topK, c.Result().Width())
}

// dispatch is a kernel.Dispatch, computed by the run of the gates. Input: the gates.
type dispatch struct {
	graph.MadeByPrimary
	graph.NoGradient
	size int
}

func (k dispatch) String() string { return fmt.Sprintf("Dispatch(%d)", k.size) }

func (k dispatch) Infer([]graph.Signature) (graph.Signature, error) {
	return graph.Signature{DType: tensor.Int32, Shape: tensor.Shape{k.size}}, nil
}

// expertCounts computes the number of rows of each expert, [E] Int32. Input: the dispatch.
type expertCounts struct {
	graph.NoGradient
	tokens, experts, topK int
}

func (k expertCounts) String() string {
	return fmt.Sprintf("ExpertCounts(top=%d, of=%d)", k.topK, k.experts)
}

// ReadsInts returns true for the dispatch.
func (expertCounts) ReadsInts(int) bool { return true }

func (k expertCounts) Infer([]graph.Signature) (graph.Signature, error) {
	return graph.Signature{DType: tensor.Int32, Shape: tensor.Shape{k.experts}}, nil
}

func (k expertCounts) Run(c *graph.Call) {
	d := kernel.NewDispatch(c.Ints(0), k.tokens, k.topK, k.experts)
	d.Counts(c.IntsOut())
}
