package graph

import "gorgonia.org/tensor"

// Memory is what a Program keeps, in bytes.
type Memory struct {
	Arena       int // shared buffers of all outputs
	Unshared    int // what they would take without sharing
	Activations int // forward outputs that the backward pass reads
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
	bytes := 0
	for _, n := range p.plan.order {
		if !planned(n) || int(n.ID()) >= p.forward || n.Dtype() == tensor.Int32 {
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
