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
	all := b.Apply(expertTerms{k, graph.Signature{DType: s.DType, Shape: graph.WithTokens(s.Leading(), k.number)}}, gates, dispatch) // [T, E]
	return b.Apply(chosenTerms{k, s}, show(b, "Gates", o.Gates, all), dispatch)
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
	return show(b, "Terms", o.Terms, b.Apply(expertTerms{k, result}, rows, dispatch))
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

// expertTerms spreads what each token has for its chosen experts, [T*k, ...] or [T, k], over all
// experts, [T, E, ...] in the shape of result: 0 for those not chosen. Inputs: the rows in the
// order of the choices, and the dispatch.
type expertTerms struct {
	experts
	result graph.Signature
}

func (k expertTerms) String() string { return "ExpertTerms" + k.experts.String() }

// ReadsInts returns true for the dispatch.
func (expertTerms) ReadsInts(i int) bool { return i == 1 }

func (k expertTerms) Infer([]graph.Signature) (graph.Signature, error) { return k.result, nil }

func (k expertTerms) SameType() bool { return true }

func (k expertTerms) VJP(d *graph.Derivative) {
	d.Make(0, chosenTerms{k.experts, d.Signature(0)}, d.Gradient(), d.Input(1))
}

func (k expertTerms) Run(c *graph.Call) {
	graph.Dispatch(c, k, runExpertTerms[float32], runExpertTerms[float64])
}

func runExpertTerms[T kernel.Float](k expertTerms, c graph.CallOf[T]) {
	graph.State[kernel.ExpertTerms[T]](c).Spread(c.Pool(), c.Out(), c.In(0), k.dispatch(c.Ints(1)))
}

// chosenTerms gathers the parts of each token's chosen experts from [T, E, ...] again, in the shape
// of result; it does not read the others. Inputs: the terms, and the dispatch.
type chosenTerms struct {
	experts
	result graph.Signature
}

func (k chosenTerms) String() string { return "ChosenTerms" + k.experts.String() }

// ReadsInts returns true for the dispatch.
func (chosenTerms) ReadsInts(i int) bool { return i == 1 }

func (k chosenTerms) Infer([]graph.Signature) (graph.Signature, error) { return k.result, nil }

func (k chosenTerms) SameType() bool { return true }

func (k chosenTerms) VJP(d *graph.Derivative) {
	d.Make(0, expertTerms{k.experts, d.Signature(0)}, d.Gradient(), d.Input(1))
}

func (k chosenTerms) Run(c *graph.Call) {
	graph.Dispatch(c, k, runChosenTerms[float32], runChosenTerms[float64])
}

func runChosenTerms[T kernel.Float](k chosenTerms, c graph.CallOf[T]) {
	graph.State[kernel.ExpertTerms[T]](c).Gather(c.Pool(), c.Out(), c.In(0), k.dispatch(c.Ints(1)))
}
