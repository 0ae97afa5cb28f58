package moe

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// showGates passes the gates [T, k] to o.Gates as [T, E], and returns the gates to use.
func showGates(b *graph.Builder, k experts, gates, dispatch *gorgonia.Node, o Options) *gorgonia.Node {
	if o.Gates == nil || gates == nil {
		return gates
	}
	s := graph.SignatureOf(gates)
	all := b.Apply(terms{experts: k, result: graph.Signature{DType: s.DType, Shape: graph.WithTokens(s.Leading(), k.number)}}, gates, dispatch) // [T, E]
	return b.Apply(terms{k, s, true}, show(b, "Gates", o.Gates, all), dispatch)
}

// gatedTerms computes each expert's gated output, [T, E, D], and passes it to o.Terms. The experts'
// second product treats each assignment as a separate token.
func gatedTerms(b *graph.Builder, k experts, a, w2, gates, dispatch *gorgonia.Node, o Options) *gorgonia.Node {
	each := k
	each.topK = 1
	rows := gated(b, each, a, w2, gates, dispatch, o) // [T*k, D]
	if rows == nil {
		return nil
	}
	s := graph.SignatureOf(rows)
	result := graph.Signature{DType: s.DType, Shape: graph.WithTokens(s.Leading()/k.topK, k.number, s.Width())}
	return show(b, "Terms", o.Terms, b.Apply(terms{experts: k, result: result}, rows, dispatch))
}

// show returns the result of a function of Options for x, after checking it.
func show(b *graph.Builder, name string, look func(*gorgonia.Node) *gorgonia.Node, x *gorgonia.Node) *gorgonia.Node {
	if x == nil {
		return nil
	}
	y := look(x)
	if b.Err() == nil && (y == nil || !y.Shape().Eq(x.Shape())) {
		b.Fail(errors.Errorf("graph: MoE: %s: want it to return a node of shape %v, got %s", name, x.Shape(), describe(y)))
	}
	return y
}

func describe(n *gorgonia.Node) string {
	if n == nil {
		return "nil"
	}
	return graph.SignatureOf(n).String()
}

// terms spreads what each token has for its chosen experts, [T*k, ...] or [T, k], over all experts,
// [T, E, ...]: 0 for those not chosen. With gather it does the reverse, and does not read the terms
// of experts that are not chosen. The output has the shape of result. Inputs: the rows in the order
// of the choices, or the terms; and the dispatch.
type terms struct {
	experts
	result graph.Signature
	gather bool
}

func (k terms) String() string {
	if k.gather {
		return "ChosenTerms" + k.experts.String()
	}
	return "ExpertTerms" + k.experts.String()
}

// ReadsInts returns true for the dispatch.
func (terms) ReadsInts(i int) bool { return i == 1 }

func (k terms) Infer([]graph.Signature) (graph.Signature, error) { return k.result, nil }

func (terms) SameType() bool { return true }

func (k terms) VJP(d *graph.Derivative) {
	d.Make(0, terms{k.experts, d.Signature(0), !k.gather}, d.Gradient(), d.Input(1))
}

func (k terms) Run(c *graph.Call) {
	graph.Dispatch(c, k, runTerms, runTerms)
}

func runTerms[T kernel.Float](k terms, c graph.CallOf[T]) {
	s := graph.State[kernel.ExpertTerms[T]](c)
	if k.gather {
		s.Gather(c.Pool(), c.Out(), c.In(0), k.dispatch(c.Ints(1)))
	} else {
		s.Spread(c.Pool(), c.Out(), c.In(0), k.dispatch(c.Ints(1)))
	}
}
