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

// OpCost is what one op of the forward pass costs.
type OpCost struct {
	OpType string       // what the op does, without its parameters: "Linear"
	Shape  tensor.Shape // of its output
	FLOPs  int          // of matrix products, as ForwardFLOPs counts them
	Kept   int          // bytes of its output, if the backward pass reads it
}

// Costs returns the ops of the forward pass that multiply matrices or whose outputs the backward pass reads, in
// the order in which they run: ForwardFLOPs and Memory().Activations by op. What is made of parameters alone is not
// kept for the backward pass.
func (p *Program) Costs() []OpCost {
	weights := map[*gorgonia.Node]bool{} // parameters, and what is made of them alone
	for _, n := range p.builder.Learnables() {
		weights[n] = true
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
