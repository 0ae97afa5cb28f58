package graph

import (
	"slices"

	"gorgonia.org/gorgonia"
)

// Recompute says which values of the forward pass a training Program keeps.
type Recompute string

const (
	// RecomputeNone keeps every tensor that the backward pass reads.
	RecomputeNone Recompute = "none"
	// RecomputeCheap keeps the results of products and attention, and computes norms, activations
	// and gates again (Recomputable) in the backward pass, with the same bits.
	RecomputeCheap Recompute = "cheap"
	// RecomputeBlock keeps the values that pass between blocks (Builder.Block) and computes the
	// others again in the backward pass, with the same bits.
	RecomputeBlock Recompute = "block"
)

// rebuilder makes second copies of nodes when the backward pass reads them: of Recomputables, or
// of all nodes inside blocks. Nodes run in the order in which they are made, so a copy runs just
// before its reader.
type rebuilder struct {
	b         *Builder
	recompute Recompute
	kept      map[*gorgonia.Node]bool // nodes that are hooked, or read outside their block: not copied
	copies    map[*gorgonia.Node]*gorgonia.Node
}

// newRebuilder returns nil for RecomputeNone.
func newRebuilder(b *Builder, order gorgonia.Nodes, recompute Recompute) *rebuilder {
	if recompute != RecomputeCheap && recompute != RecomputeBlock {
		return nil
	}
	r := &rebuilder{b: b, recompute: recompute, kept: map[*gorgonia.Node]bool{}, copies: map[*gorgonia.Node]*gorgonia.Node{}}
	for _, n := range b.hooked { // a hook runs once, and its value is kept in any case
		r.kept[n] = true
	}
	for _, n := range order {
		for _, c := range Inputs(n) {
			if recompute == RecomputeBlock && b.blocks[c.ID()] != b.blocks[n.ID()] {
				r.kept[c] = true
			}
		}
	}
	return r
}

// node returns the node that the gradient of reader reads instead of x. A nil rebuilder recomputes
// nothing.
func (r *rebuilder) node(x, reader *gorgonia.Node) *gorgonia.Node {
	if r == nil || !r.copied(x, reader) {
		return x
	}
	return r.copy(x)
}

// copied reports whether the gradient of reader reads a copy of x.
func (r *rebuilder) copied(x, reader *gorgonia.Node) bool {
	op := opOf(x)
	if op == nil || r.kept[x] {
		return false
	}
	if r.recompute == RecomputeCheap {
		_, recomputable := op.Primitive.(Recomputable)
		return recomputable
	}
	block := r.b.blocks[x.ID()]
	return block != 0 && block == r.b.blocks[reader.ID()]
}

func (r *rebuilder) copy(x *gorgonia.Node) *gorgonia.Node {
	if c, ok := r.copies[x]; ok {
		return c
	}
	op, inputs := opOf(x), Inputs(x)
	for i, c := range inputs {
		inputs[i] = r.node(c, x)
	}
	switch {
	case r.recompute == RecomputeCheap:
		r.copies[x] = op.Primitive.(Recomputable).Again(r.b, inputs)
	case op.primary == nil:
		r.copies[x] = r.b.Apply(op.Primitive, inputs...)
	default:
		r.copies[x] = r.copySecondary(x, inputs)
	}
	return r.copies[x]
}

// copySecondary copies a secondary; the copy of its primary fills it.
func (r *rebuilder) copySecondary(x *gorgonia.Node, inputs gorgonia.Nodes) *gorgonia.Node {
	op := opOf(x)
	if opOf(inputs[0]) == op.primary { // the primary is kept, and so is the secondary that it filled
		return x
	}
	i := slices.Index(op.primary.secondaries, op)
	return r.b.Secondary(op.Primitive, i, inputs[0], inputs[1:]...)
}
