package graph

import (
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Memory is what a Program keeps, in bytes.
type Memory struct {
	Arena       int // shared buffers of all outputs
	Unshared    int // what they would take without sharing
	Activations int // forward outputs that the backward pass reads, but for those made of parameters alone
	Parameters  int // values, gradients and moments in the Store
}

// Memory reports the buffer plan.
func (p *Program) Memory() Memory {
	return Memory{Arena: p.plan.bytes, Unshared: p.plan.unshared, Activations: p.activationBytes(),
		Parameters: p.Store().Bytes()}
}

// Nodes returns how many nodes the tape machine runs.
func (p *Program) Nodes() int { return len(p.builder.g.AllNodes()) }

// activationBytes sums the forward outputs that nodes of the backward pass read.
func (p *Program) activationBytes() int {
	bytes, weights := 0, map[*gorgonia.Node]bool{} // parameters, and what is made of them alone
	for _, n := range p.builder.Learnables() {
		weights[n] = true
	}
	for _, n := range p.plan.order {
		if inputs := Inputs(n); len(inputs) > 0 && !slices.ContainsFunc(inputs, func(c *gorgonia.Node) bool { return !weights[c] }) {
			weights[n] = true
		}
		if weights[n] || !planned(n) || int(n.ID()) >= p.forward || n.Dtype() == tensor.Int32 {
			continue
		}
		for _, r := range p.plan.readers[n] {
			if int(r.ID()) >= p.forward {
				bytes += opOf(n).out.Bytes()
				break
			}
		}
	}
	return bytes
}
