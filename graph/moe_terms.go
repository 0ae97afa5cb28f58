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
	s := signatureOf(gates)
	all := b.Apply(expertTerms{k, Signature{s.DType, withTokens(s.leading(), k.number)}}, gates, dispatch) // [T, E]
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
	s := signatureOf(rows)
	result := Signature{s.DType, withTokens(s.leading()/k.topK, k.number, s.width())}
	return b.show("Terms", o.Terms, b.Apply(expertTerms{k, result}, rows, dispatch))
}

// show returns what a function of MoEOptions makes of x.
func (b *Builder) show(name string, look func(*gorgonia.Node) *gorgonia.Node, x *gorgonia.Node) *gorgonia.Node {
	if x == nil {
		return nil
	}
	y := look(x)
	if b.err == nil && (y == nil || !y.Shape().Eq(x.Shape())) {
		b.fail(errors.Errorf("graph: MoE: %s: want it to return a node of shape %v, got %s", name, x.Shape(), describe(y)))
	}
	return y
}

func describe(n *gorgonia.Node) string {
	if n == nil {
		return "nil"
	}
	return signatureOf(n).String()
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

func (k expertTerms) passes() bool { return true }

func (k expertTerms) Differentiable(i int) bool { return i == 0 }

func (k expertTerms) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, d.b.Apply(chosenTerms{k.experts, d.op.in[0]}, d.Gradient(), d.Input(1)))
	}
}

func (k expertTerms) Run(c *Call) error {
	if c.Double() {
		return runExpertTerms[float64](k, c)
	}
	return runExpertTerms[float32](k, c)
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

func (k chosenTerms) passes() bool { return true }

func (k chosenTerms) Differentiable(i int) bool { return i == 0 }

func (k chosenTerms) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, d.b.Apply(expertTerms{k.experts, d.op.in[0]}, d.Gradient(), d.Input(1)))
	}
}

func (k chosenTerms) Run(c *Call) error {
	if c.Double() {
		return runChosenTerms[float64](k, c)
	}
	return runChosenTerms[float32](k, c)
}

func runChosenTerms[T kernel.Float](k chosenTerms, c *Call) error {
	State[kernel.ExpertTerms[T]](c).Gather(c.Pool(), Out[T](c), In[T](c, 0), k.dispatch(c, 1))
	return nil
}
