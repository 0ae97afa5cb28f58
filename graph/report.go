package graph

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

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
				bytes += opOf(n).out.bytes()
				break
			}
		}
	}
	return bytes
}

// ForwardFLOPs counts the matrix products of the nodes that the build function made, 2
// per multiply-add, causal attention (and what is split off it) at its true half, gathers 0.
func (p *Program) ForwardFLOPs() int {
	flops := 0
	for _, n := range p.builder.g.AllNodes()[:p.forward] {
		flops += nodeFLOPs(n)
	}
	return flops
}

func nodeFLOPs(n *gorgonia.Node) int {
	op := opOf(n)
	if op == nil {
		return 0
	}
	switch k := op.kind.(type) {
	case linear, linearGelu, routerLogits:
		return 2 * op.in[0].size() * op.out.width()
	case read:
		return matrixFLOPs(op.in[0], op.in[1])
	case normRead:
		return matrixFLOPs(op.in[0], op.in[2])
	case normLinear:
		return 2 * op.in[0].size() * op.in[1].width()
	case write:
		return matrixFLOPs(op.out, op.in[0])
	case mixRead:
		return k.readFLOPs(op.in[0])
	case mixWrite:
		return k.readFLOPs(op.in[0]) + k.carryFLOPs(op.in[0])
	case expertsHidden, expertsOut:
		return 2 * op.out.size() * op.in[1].shape[1]
	case attention:
		return 2 * k.halfFLOPs(op.in[0])
	case attentionPattern:
		return k.halfFLOPs(op.in[0])
	case attentionMix:
		return k.attention().halfFLOPs(op.in[1])
	case crossEntropy, tokenLosses:
		return 2 * op.in[0].leading() * op.in[1].size()
	}
	return 0
}

// matrixFLOPs is a READ's or WRITE's cost: a stream [T, Dk, Dv] with m keys [.., Dk].
func matrixFLOPs(x, keys signature) int {
	tokens, m, dk, dv := streamSizes(x, keys)
	return 2 * tokens * m * dk * dv
}
