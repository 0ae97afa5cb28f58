package graph

import (
	"sort"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
)

// differentiator walks the graph of a loss in reverse for Program. It differs from gorgonia.Grad in
// three ways. It sums terms by our own n-ary Add, since stock adds allocate, run on one core and
// overwrite our buffers. It builds only what lies on a path to a parameter (or hook) whose gradient
// is wanted. And it can recompute values.
type differentiator struct {
	b       *Builder
	order   gorgonia.Nodes // ancestors of the loss, children before parents
	useful  map[*gorgonia.Node]bool
	readers map[*gorgonia.Node]int // how many nodes read a node on the way to the loss

	parameters map[*gorgonia.Node]bool
	terms      map[*gorgonia.Node]gorgonia.Nodes
	held       map[*gorgonia.Node][]any // terms that are left to the op that makes the node
	rebuild    *rebuilder               // nil: no recomputation
}

// differentiate returns the gradient node of each of b's parameters that is not Frozen.
func differentiate(b *Builder, loss *gorgonia.Node, recompute Recompute) (gorgonia.Nodes, error) {
	d := newDifferentiator(b, loss)
	for _, p := range b.trained() {
		d.useful[p.node], d.parameters[p.node] = true, true
	}
	d.rebuild = newRebuilder(b, d.order, recompute)
	if err := d.walk(loss); err != nil {
		return nil, err
	}
	return d.gradients()
}

// differentiateHooks returns the gradient node of each of b's hooks, nil where the loss does not
// depend on it.
func differentiateHooks(b *Builder, loss *gorgonia.Node) (gorgonia.Nodes, error) {
	d := newDifferentiator(b, loss)
	for _, n := range b.hooked {
		d.useful[n] = true
	}
	if err := d.walk(loss); err != nil {
		return nil, err
	}
	grads := make(gorgonia.Nodes, len(b.hooked))
	for i, n := range b.hooked {
		if terms := d.terms[n]; len(terms) > 0 {
			grads[i] = terms[0]
		}
	}
	return grads, b.err
}

func newDifferentiator(b *Builder, loss *gorgonia.Node) *differentiator {
	return &differentiator{b: b, order: ancestors(gorgonia.Nodes{loss}), terms: map[*gorgonia.Node]gorgonia.Nodes{},
		held: map[*gorgonia.Node][]any{}, useful: map[*gorgonia.Node]bool{}, parameters: map[*gorgonia.Node]bool{}}
}

// walk visits the ancestors of the loss in reverse order.
func (d *differentiator) walk(loss *gorgonia.Node) error {
	if !loss.IsScalar() {
		return errors.Errorf("graph: loss: want a scalar, got shape %v", loss.Shape())
	}
	d.findUseful()
	b := d.b
	b.implicitLossGradient, b.loss = new(gorgonia.Node), loss
	defer func() { b.implicitLossGradient, b.loss = nil, nil }()
	d.terms[loss] = gorgonia.Nodes{b.implicitLossGradient}
	for i := len(d.order) - 1; i >= 0; i-- {
		if err := d.visit(d.order[i]); err != nil {
			return err
		}
		if err := d.visitWeights(Inputs(d.order[i])); err != nil {
			return err
		}
	}
	return nil
}

// visitWeights visits, among the inputs of a node just visited, each weight with adapters whose
// readers have now all been visited. The memory of that weight's whole gradient is then soon free
// again.
func (d *differentiator) visitWeights(inputs gorgonia.Nodes) error {
	for _, c := range inputs {
		if _, ok := PrimitiveOf(c).(adapt); !ok {
			continue
		}
		if d.readers[c]--; d.readers[c] > 0 {
			continue
		}
		if err := d.visit(c); err != nil {
			return err
		}
		delete(d.useful, c) // its turn in the order does nothing more
	}
	return nil
}

// ancestors returns the roots and all nodes that they depend on, children before parents.
func ancestors(roots gorgonia.Nodes) gorgonia.Nodes {
	seen := map[*gorgonia.Node]bool{}
	var all gorgonia.Nodes
	stack := append(gorgonia.Nodes(nil), roots...)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		all = append(all, n)
		stack = append(stack, Inputs(n)...)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ID() < all[j].ID() })
	return all
}

// Inputs returns a node's inputs in order.
func Inputs(n *gorgonia.Node) gorgonia.Nodes {
	var nodes gorgonia.Nodes
	for it := n.Graph().From(n.ID()); it.Next(); {
		nodes = append(nodes, it.Node().(*gorgonia.Node))
	}
	return nodes
}

// findUseful also marks the nodes through which the loss depends on a marked node, and counts
// the readers of every node.
func (d *differentiator) findUseful() {
	d.readers = map[*gorgonia.Node]int{}
	for _, n := range d.order {
		wrt := differentiableInputs(n)
		for i, c := range Inputs(n) {
			d.readers[c]++
			if i < len(wrt) && wrt[i] && d.useful[c] {
				d.useful[n] = true
			}
		}
	}
}

func differentiableInputs(n *gorgonia.Node) []bool {
	if op, ok := n.Op().(gorgonia.SDOp); ok {
		return op.DiffWRT(len(Inputs(n)))
	}
	return nil
}

// visit sums the gradient terms of n and passes them on to its inputs.
func (d *differentiator) visit(n *gorgonia.Node) error {
	terms := d.terms[n]
	if len(terms) == 0 || !d.useful[n] {
		return nil
	}
	grad := terms[0]
	if len(terms) > 1 {
		grad = d.b.Add(terms...)
		if keepsFloat32(n) {
			keepFloat32(gorgonia.Nodes{grad})
		}
	}
	d.terms[n] = gorgonia.Nodes{grad}
	if _, weight := PrimitiveOf(n).(adapt); weight || d.parameters[n] {
		keepFloat32(append(terms, grad))
	}
	if d.parameters[n] {
		return d.b.err
	}
	if n.Op() == nil {
		return d.b.err
	}
	grads, err := d.inputGradients(n, grad)
	if err != nil {
		return err
	}
	for i, c := range Inputs(n) {
		if d.useful[c] && grads[i] != nil {
			d.terms[c] = append(d.terms[c], grads[i])
		}
		if d.parameters[c] {
			d.sumTerms(c)
		}
	}
	return nil
}

// sumTerms adds up the terms of a parameter's gradient collected so far: blocks that tokens
// pass several times then need one buffer, not one for each pass.
func (d *differentiator) sumTerms(parameter *gorgonia.Node) {
	if terms := d.terms[parameter]; len(terms) > 1 {
		sum := d.b.Add(terms...)
		keepFloat32(append(terms, sum))
		d.terms[parameter] = gorgonia.Nodes{sum}
	}
}

// keepsFloat32 tells whether a node's value, and therefore its gradient, is stored in 32 bits.
func keepsFloat32(n *gorgonia.Node) bool {
	op := opOf(n)
	if op == nil {
		return false
	}
	k, ok := op.Primitive.(KeepsFloat32)
	return ok && k.KeepsFloat32()
}

// keepFloat32 marks nodes (parameter gradients, and the terms that they sum) to be stored in 32
// bits.
func keepFloat32(nodes gorgonia.Nodes) {
	for _, n := range nodes {
		if op := opOf(n); op != nil {
			op.keepsFloat32 = true
		}
	}
}

// inputGradients differentiates one node.
func (d *differentiator) inputGradients(n, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	inputs := Inputs(n)
	op := opOf(n)
	if op == nil {
		return d.stockGradients(n, grad)
	}
	v := &Derivative{b: d.b, op: op, grad: grad, wanted: op.DiffWRT(len(inputs)), grads: make(gorgonia.Nodes, len(inputs)),
		inputs:          func(i int) *gorgonia.Node { return d.rebuild.node(inputs[i], n) },
		output:          func() *gorgonia.Node { return d.rebuild.node(n, n) },
		takeAccumulated: func(i int) *gorgonia.Node { return d.takeAccumulated(inputs[i]) },
		hold:            func(i int, term any) bool { return d.hold(inputs[i], term) },
		held:            d.held[n],
		fusible:         func(i int) *gorgonia.Node { return d.fusible(inputs[i]) },
		recomputed:      func(x *gorgonia.Node) *gorgonia.Node { return d.rebuild.node(x, n) },
	}
	for i, c := range inputs {
		v.wanted[i] = v.wanted[i] && d.useful[c]
	}
	op.VJP(v)
	return v.grads, errors.Wrapf(d.b.err, "gradient of %s", op.Primitive)
}

// fusible returns n if one of our ops makes it and exactly one forward node reads it, else nil.
func (d *differentiator) fusible(n *gorgonia.Node) *gorgonia.Node {
	if opOf(n) == nil || d.readers[n] != 1 {
		return nil
	}
	return n
}

// hold leaves a term of n's gradient to the op that makes n, if that op takes it.
func (d *differentiator) hold(n *gorgonia.Node, term any) bool {
	op := opOf(n)
	if op == nil || len(d.terms[n]) == 0 {
		return false
	}
	if k, ok := op.Primitive.(Holder); !ok || !k.Holds(d.held[n], term) {
		return false
	}
	d.held[n] = append(d.held[n], term)
	return true
}

// takeAccumulated returns the sum of n's gradient terms collected so far, and forgets the
// terms.
func (d *differentiator) takeAccumulated(n *gorgonia.Node) *gorgonia.Node {
	terms := d.terms[n]
	delete(d.terms, n)
	switch len(terms) {
	case 0:
		return nil
	case 1:
		return terms[0]
	}
	return d.b.Add(terms...)
}

func (d *differentiator) stockGradients(n, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	op, ok := n.Op().(gorgonia.SDOp)
	if !ok {
		return nil, errors.Errorf("graph: node %q: its op has no symbolic derivative", n.Name())
	}
	switch {
	case grad == d.b.implicitLossGradient:
		grad = d.b.lossGradient(d.b.loss)
	case opOf(grad) == nil:
		// A stock op may pass a gradient on unchanged, share its memory or write into it, which
		// would corrupt it for its other readers: give the stock op a copy in a buffer of ours.
		grad = d.b.Add(grad)
	}
	grads, err := op.SymDiff(Inputs(n), n, grad)
	return grads, errors.Wrapf(err, "gradient of %q", n.Name())
}

// gradients returns one gradient node for each parameter, each with its own buffer that can
// accumulate and that no other node reads.
func (d *differentiator) gradients() (gorgonia.Nodes, error) {
	uses := map[*gorgonia.Node]int{}
	for _, terms := range d.terms {
		uses[terms[0]]++
	}
	for _, n := range d.b.g.AllNodes() {
		for _, c := range Inputs(n) {
			uses[c]++
		}
	}
	trained := d.b.trained()
	grads := make(gorgonia.Nodes, len(trained))
	for i, p := range trained {
		terms := d.terms[p.node]
		if len(terms) == 0 {
			return nil, errors.Errorf("graph: parameter %q: want a path to the loss, got none", p.param.Name)
		}
		grad := terms[0]
		if op := opOf(grad); op == nil || uses[grad] > 1 || !canAccumulate(op) {
			grad = d.b.Add(grad)
		}
		if d.b.err != nil {
			return nil, d.b.err
		}
		opOf(grad).gradientOf = p.param
		grads[i] = grad
	}
	return grads, nil
}

func canAccumulate(op *Op) bool {
	k, ok := op.Primitive.(Accumulator)
	return ok && k.Accumulates() && op.gradientOf == nil
}
