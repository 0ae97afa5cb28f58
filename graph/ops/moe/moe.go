// Package moe has a mixture of experts, its routing and the losses that balance it.
package moe

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/shape"
)

// Options vary a Mixture.
type Options struct {
	TopK      int            // k, the number of experts of a token
	ExactGelu bool           // by erf instead of tanh
	RawGates  bool           // use the probabilities themselves as gates, which then do not sum to 1
	B1        *gorgonia.Node // [E, FF], or nil
	B2        *gorgonia.Node // [E, D], or nil; both or neither

	// Gates and Terms, if not nil, are called while the graph is built, with a node that otherwise
	// does not exist, and return a node of the same shape that replaces it. Entries of Gates'
	// result for experts that are not chosen are not read.
	Gates func(g *gorgonia.Node) *gorgonia.Node     // g_te [T, E], 0 for experts not chosen
	Terms func(terms *gorgonia.Node) *gorgonia.Node // g_te E_e(u_t) [T, E, D], whose sum over e is y
}

// Mixture computes a feed-forward of E experts, of which each token uses k (Shazeer et al. 2017,
// arXiv 1701.06538, section 2; gates as in Mixtral, Jiang et al. 2024, arXiv 2401.04088, section
// 2.1):
//
//	p_t = softmax(u_t router)
//	c_t = the k experts of the highest p_te, ties going to the lowest index
//	g_ti = p_ti / sum over j in c_t of p_tj; for k = 1, and with RawGates, it is p_ti (Fedus et al. 2021;
//	Dai et al. 2024, arXiv 2401.06066)
//	y_t = sum over i in c_t of g_ti E_i(u_t),   E_i(u) = gelu(u W1_i + b1_i) W2_i + b2_i
//
// u [T, ...F] is read flattened over its last axes, D entries per token; router [D, E], w1 [E,
// D, FF], w2 [E, FF, D], y [T, D]. No assignment of a token to an expert is dropped. The
// gradient treats the choices as constant; the weights of an expert without tokens have the
// gradient 0.
func Mixture(b *graph.Builder, u, router, w1, w2 *gorgonia.Node, o Options) Output {
	logits := b.Apply(routerLogits{linear.Product{Scale: 1}}, u, router) // [T, E]
	if logits == nil {
		return Output{}
	}
	if router.Shape().Dims() != 2 {
		b.Fail(errors.Errorf("graph: MoE: router: want shape [D, E], got %v", router.Shape()))
		return Output{}
	}
	return mixture(b, logits, u, w1, w2, o)
}

// mixture makes the nodes after the router's logits [T, E].
func mixture(b *graph.Builder, logits, u, w1, w2 *gorgonia.Node, o Options) Output {
	tokens := logits.Shape()[0]
	k := experts{topK: o.TopK, number: logits.Shape()[1], exact: o.ExactGelu, biased: o.B1 != nil || o.B2 != nil}
	gates := b.Apply(route{k.topK, o.RawGates}, logits) // [T, k]
	if gates == nil {
		return Output{}
	}
	r := &routing{b: b, logits: logits, experts: k}
	r.dispatch = b.Secondary(dispatch{size: k.dispatchSize(tokens)}, 0, gates)
	gates = showGates(b, k, gates, r.dispatch, o)
	return Output{Y: throughExperts(b, k, u, w1, w2, gates, r.dispatch, o), routing: r}
}

// throughExperts computes y [T, D].
func throughExperts(b *graph.Builder, k experts, u, w1, w2, gates, dispatch *gorgonia.Node, o Options) *gorgonia.Node {
	inputs := gorgonia.Nodes{u, w1, dispatch}
	if k.biased {
		inputs = append(inputs, o.B1)
	}
	h := b.Apply(expertsHidden{k}, inputs...) // [T*k, FF]
	if h == nil {
		return nil
	}
	a := b.Secondary(expertsActivated{gelu: elementwise.Activation{Function: kernel.Gelu(k.exact)}}, 0, h) // [T*k, FF]
	if o.Terms != nil {
		return shape.SumCopies(b, gatedTerms(b, k, a, w2, gates, dispatch, o))
	}
	return gated(b, k, a, w2, gates, dispatch, o)
}

// gated computes the experts' outputs times the gates, summed over each token's choices, [T, D].
func gated(b *graph.Builder, k experts, a, w2, gates, dispatch *gorgonia.Node, o Options) *gorgonia.Node {
	inputs := gorgonia.Nodes{a, w2, dispatch, gates}
	if k.biased {
		inputs = append(inputs, o.B2)
	}
	rows := b.Apply(expertsOut{k}, inputs...) // one row for each assignment
	if rows == nil {
		return nil
	}
	s := graph.SignatureOf(rows)
	return b.Secondary(combined{result: graph.Signature{DType: s.DType, Shape: graph.WithTokens(s.Leading()/k.topK, s.Width())}}, 0, rows)
}

// Output is the result of Mixture. Its methods make their nodes at the first call; something must
// then read each of those nodes.
type Output struct {
	Y *gorgonia.Node // [T, D]

	routing *routing // nil after an error
}

// routing is what the methods of an Output work with.
type routing struct {
	b                        *graph.Builder
	logits, dispatch         *gorgonia.Node // [T, E] and its choices
	experts                  experts
	balance, routerZ, counts *gorgonia.Node // nodes that the methods have made so far
}

// Balance computes the load-balancing loss (Fedus et al. 2021, arXiv 2101.03961, section 2.2), a
// scalar:
//
//	E * sum over e of f_e P_e,   f_e = assignments of e / (k T),   P_e = mean over t of p_te
//
// It is 1 if all experts have the same load. The gradient treats f as constant.
func (m Output) Balance() *gorgonia.Node {
	r := m.routing
	if r == nil {
		return nil
	}
	if r.balance == nil {
		r.balance = r.b.Apply(routerLoss{balance: true, topK: r.experts.topK}, r.logits, r.dispatch)
	}
	return r.balance
}

// RouterZ computes the router's z-loss (Zoph et al. 2022, arXiv 2202.08906, section 3.2), a scalar:
//
//	mean over t of (log sum over e of exp(logits_te))^2
func (m Output) RouterZ() *gorgonia.Node {
	r := m.routing
	if r == nil {
		return nil
	}
	if r.routerZ == nil {
		r.routerZ = r.b.Apply(routerLoss{topK: r.experts.topK}, r.logits)
	}
	return r.routerZ
}

// Counts returns the number of assignments of each expert, [E] Int32.
func (m Output) Counts() *gorgonia.Node {
	r := m.routing
	if r == nil {
		return nil
	}
	if r.counts == nil {
		r.counts = r.b.Apply(expertCounts{tokens: r.logits.Shape()[0], experts: r.experts.number, topK: r.experts.topK}, r.dispatch)
	}
	return r.counts
}

// experts holds the sizes that the Primitives after the router share.
type experts struct {
	topK, number int  // k, E
	exact        bool // GELU by erf
	biased       bool
}

func (k experts) String() string {
	return fmt.Sprintf("(top=%d, of=%d, exact=%t, biased=%t)", k.topK, k.number, k.exact, k.biased)
}

// ReadsInts returns true for the dispatch.
func (experts) ReadsInts(i int) bool { return i == 2 }

func (k experts) dispatchSize(tokens int) int { return kernel.DispatchSize(tokens, k.topK, k.number) }

// dispatch returns the kernel's Dispatch over the memory of its node.
func (k experts) dispatch(memory []int32) kernel.Dispatch {
	return newDispatch(memory, k.topK, k.number)
}

// newDispatch returns a Dispatch over the memory of its node.
func newDispatch(memory []int32, topK, experts int) kernel.Dispatch {
	return kernel.NewDispatch(memory, (len(memory)-experts-1)/(3*topK), topK, experts)
}

// sizes returns the sizes of experts with the weights w1, or w2 if second is true.
func (k experts) sizes(w graph.Signature, second bool) kernel.ExpertSizes {
	s := kernel.ExpertSizes{Width: w.Shape[1], Hidden: w.Shape[2], Exact: k.exact}
	if second {
		s.Width, s.Hidden = s.Hidden, s.Width
	}
	return s
}

// check checks the inputs of a product of the experts, and returns its output [T*k, n]. The inputs
// are x, w [E, inputs, n], the dispatch and, last, optionally a bias.
func (k experts) check(in []graph.Signature, what, axes string, rows, inputs int) (graph.Signature, error) {
	w := in[1].Shape
	if w.Dims() != 3 || w[0] != k.number || w[1] != inputs {
		return graph.Signature{}, errors.Errorf("%s: want [E, %s] with E = %d experts, as the router has, and %d inputs, got %v", what, axes, k.number, inputs, w)
	}
	if k.biased {
		if bias := in[len(in)-1].Shape; bias.Dims() != 2 || bias[0] != k.number || bias[1] != w[2] {
			return graph.Signature{}, errors.Errorf("bias of %s: want shape %v, got %v", what, tensor.Shape{k.number, w[2]}, bias)
		}
	}
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(rows, w[2])}, nil
}
