package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
)

// hashTries limits how often a graph is built again after a 32-bit hash collision; with 1,600
// nodes, one build in 3,000 collides.
const hashTries = 4

// verify checks what the tape machine requires but does not check.
func (p *Program) verify() error {
	for _, n := range p.DeadNodes() {
		// A stock op differentiates with respect to all its inputs, wanted or not.
		if opOf(n) != nil || int(n.ID()) < p.forward {
			return errors.Errorf("node %q is read by nothing, yet would run every time", n.Name())
		}
	}
	hashes := map[uint32]bool{}
	for _, n := range p.builder.g.AllNodes() {
		if hashes[n.Hashcode()] {
			return p.rebuild(n)
		}
		hashes[n.Hashcode()] = true
	}
	return nil
}

// rebuild starts again with other hashes: Gorgonia takes nodes with the same 32-bit hash for the
// same node. n is a node whose hash another node has, too.
func (p *Program) rebuild(n *gorgonia.Node) error {
	p.options.salt++
	if p.options.salt >= hashTries {
		return errors.Errorf("node %q: want a hash of its own, got another node's in %d graphs in a row: change its name", n.Name(), hashTries)
	}
	if err := p.buildGraph(); err != nil {
		return err
	}
	if err := p.addGradient(); err != nil {
		return err
	}
	if err := p.keepAliveAtEnd(); err != nil {
		return err
	}
	return p.verify()
}

// liveAtEnd returns the nodes whose values are needed after a run.
func (p *Program) liveAtEnd() gorgonia.Nodes {
	kept := append(gorgonia.Nodes(nil), p.roots.Outputs...)
	kept = append(kept, p.gradients...)
	kept = append(kept, p.builder.hooked...)
	for _, n := range append(p.ofHooks[:len(p.ofHooks):len(p.ofHooks)], p.roots.Loss, p.keepAlive) {
		if n != nil {
			kept = append(kept, n)
		}
	}
	return kept
}

// DeadNodes returns the nodes that no output, loss or gradient needs. A tape machine runs every
// node of its graph, needed or not.
func (p *Program) DeadNodes() gorgonia.Nodes {
	alive := map[*gorgonia.Node]bool{}
	for _, n := range ancestors(p.liveAtEnd()) {
		alive[n] = true
	}
	var dead gorgonia.Nodes
	for _, n := range p.builder.g.AllNodes() {
		if !alive[n] {
			dead = append(dead, n)
		}
	}
	return dead
}
