package graph

import (
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Memory is the memory that a Program keeps, in bytes.
type Memory struct {
	Arena       int // shared buffers of all outputs
	Unshared    int // the size of the outputs without sharing
	Activations int // forward outputs that the backward pass reads, except those computed from parameters alone
	Parameters  int // values, gradients and moments in the Store
	// Adapted is the size of all weights changed by adapters, AdaptedGradients the most that the
	// gradients of such weights take at one time. Both are parts of the arena.
	Adapted, AdaptedGradients int
}

// Memory returns what the program's plan and its Store take.
func (p *Program) Memory() Memory {
	m := Memory{Arena: p.plan.bytes, Unshared: p.plan.unshared, Activations: p.activationBytes(), Parameters: p.Store().Bytes()}
	live := map[int]int{} // bytes by position in the run
	counted := map[*gorgonia.Node]bool{}
	for _, n := range p.plan.order {
		switch PrimitiveOf(n).(type) {
		case adapt:
			m.Adapted += opOf(n).out.Bytes()
		case adaptGradA, adaptGradB:
			grad := Inputs(n)[0]
			v := p.plan.intervalOf[grad]
			if v == nil || counted[grad] {
				continue
			}
			counted[grad] = true
			for at := v.start; at <= v.end; at++ {
				live[at] += opOf(grad).storageBytes()
				m.AdaptedGradients = max(m.AdaptedGradients, live[at])
			}
		}
	}
	return m
}

// Nodes returns the number of nodes that the tape machine runs.
func (p *Program) Nodes() int { return len(p.builder.g.AllNodes()) }

// OpCost is the cost of one op of the forward pass.
type OpCost struct {
	OpType string       // the op's name without its parameters: "Linear"
	Shape  tensor.Shape // shape of the output
	FLOPs  int          // of matrix products, as ForwardFLOPs counts them
	Kept   int          // bytes of the output if the backward pass reads it, else 0
}

// Costs returns the ops of the forward pass that multiply matrices or whose outputs the backward
// pass reads, in run order: it splits ForwardFLOPs and Memory().Activations by op. Outputs computed
// from parameters alone do not count as kept.
func (p *Program) Costs() []OpCost {
	weights := map[*gorgonia.Node]bool{} // parameters, and nodes computed from parameters alone
	for _, parameter := range p.builder.params {
		weights[parameter.node] = true
	}
	var rows []OpCost
	for _, n := range p.plan.order {
		if inputs := Inputs(n); len(inputs) > 0 && !slices.ContainsFunc(inputs, func(c *gorgonia.Node) bool { return !weights[c] }) {
			weights[n] = true
		}
		op := opOf(n)
		if op == nil || int(n.ID()) >= p.forward {
			continue
		}
		row := OpCost{OpType: opType(op.Primitive), Shape: op.out.Shape, FLOPs: op.runFLOPs(true)}
		if !weights[n] && p.readByBackward(n) {
			row.Kept = op.out.Bytes()
		}
		if row.FLOPs > 0 || row.Kept > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// readByBackward tells whether a node of the backward pass reads the output of n, a forward node.
func (p *Program) readByBackward(n *gorgonia.Node) bool {
	return planned(n) && n.Dtype() != tensor.Int32 &&
		slices.ContainsFunc(p.plan.readers[n], func(r *gorgonia.Node) bool { return int(r.ID()) >= p.forward })
}

// activationBytes sums the forward outputs that nodes of the backward pass read.
func (p *Program) activationBytes() (bytes int) {
	for _, row := range p.Costs() {
		bytes += row.Kept
	}
	return bytes
}
