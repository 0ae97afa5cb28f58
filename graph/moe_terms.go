package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// showGates lets o.Gates see the gates [T, k] as [T, E], and returns those to go on with.
func (b *Builder) showGates(k experts, gates, dispatch *gorgonia.Node, o MoEOptions) *gorgonia.Node {
	if o.Gates == nil || gates == nil {
		return gates
	}
	s := SignatureOf(gates)
	all := b.Apply(expertTerms{k, Signature{s.DType, WithTokens(s.Leading(), k.number)}}, gates, dispatch) // [T, E]
	return b.Apply(chosenTerms{k, s}, b.show("Gates", o.Gates, all), dispatch)
}

// expertTerms makes each expert's gated output, [T, E, D], and lets o.Terms see it. An
// assignment is a token of its own to the experts' second product.
func (b *Builder) expertTerms(k experts, a, w2, gates, dispatch *gorgonia.Node, o MoEOptions) *gorgonia.Node {
	each := k
	each.topK = 1
	rows := b.gated(each, a, w2, gates, dispatch, o) // [T*k, D]
	if rows == nil {
		return nil
	}
	s := SignatureOf(rows)
	result := Signature{s.DType, WithTokens(s.Leading()/k.topK, k.number, s.Width())}
	return b.show("Terms", o.Terms, b.Apply(expertTerms{k, result}, rows, dispatch))
}

// show returns what a function of MoEOptions makes of x.
func (b *Builder) show(name string, look func(*gorgonia.Node) *gorgonia.Node, x *gorgonia.Node) *gorgonia.Node {
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
	return SignatureOf(n).String()
}

// expertTerms lays what each token has of its chosen experts, [T*k, ...] or [T, k], out over
// all experts, [T, E, ...] in the shape of result: 0 for those not chosen. Inputs: the rows
// in the order of the choices, and the dispatch.
type expertTerms struct {
	experts
	result Signature
}

func (k expertTerms) String() string { return "ExpertTerms" + k.experts.String() }

func (k expertTerms) Infer([]Signature) (Signature, error) { return k.result, nil }

func (k expertTerms) Passes() bool { return true }

func (k expertTerms) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, d.Apply(chosenTerms{k.experts, d.Signature(0)}, d.Gradient(), d.Input(1)))
	}
}

func (k expertTerms) Run(c *Call) error {
	return Dispatch(c, k, runExpertTerms[float32], runExpertTerms[float64])
}

func runExpertTerms[T kernel.Float](k expertTerms, c *Call) error {
	State[kernel.ExpertTerms[T]](c).Spread(c.Pool(), Out[T](c), In[T](c, 0), k.dispatch(c, 1))
	return nil
}

// chosenTerms takes each token's chosen experts' part out of [T, E, ...] again, in the shape
// of result; the others' are not read. Inputs: the terms, and the dispatch.
type chosenTerms struct {
	experts
	result Signature
}

func (k chosenTerms) String() string { return "ChosenTerms" + k.experts.String() }

func (k chosenTerms) Infer([]Signature) (Signature, error) { return k.result, nil }

func (k chosenTerms) Passes() bool { return true }

func (k chosenTerms) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, d.Apply(expertTerms{k.experts, d.Signature(0)}, d.Gradient(), d.Input(1)))
	}
}

func (k chosenTerms) Run(c *Call) error {
	return Dispatch(c, k, runChosenTerms[float32], runChosenTerms[float64])
}

func runChosenTerms[T kernel.Float](k chosenTerms, c *Call) error {
	State[kernel.ExpertTerms[T]](c).Gather(c.Pool(), Out[T](c), In[T](c, 0), k.dispatch(c, 1))
	return nil
}
