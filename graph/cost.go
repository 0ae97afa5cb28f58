package graph

// Optional abilities of a Primitive: what one run costs.
type (
	// flopsCounter is a Primitive that multiplies matrices: 2 a multiply-add, causal attention
	// (and what is split off it) at its true half. Products that a backward pass only repeats
	// to have the forward pass's numbers again (attention's logits) are not counted, so that
	// without recomputation a loss and its gradients come to three times ForwardFLOPs.
	flopsCounter interface{ flops(c cost) int }
	// bytesCounter is a Primitive that does not read each input and write each output once.
	bytesCounter interface{ bytes(c cost) int }
)

// cost is what a Primitive counts by: its op's signatures.
type cost struct {
	op      *Op
	forward bool // as part of a forward pass alone
}

// in is the signature of input i.
func (c cost) in(i int) Signature { return c.op.in[i] }

// out is the signature of the output.
func (c cost) out() Signature { return c.op.out }

// secondary is 1 if the run also computes the secondary of that number, else 0.
func (c cost) secondary(i int) int {
	if !c.forward && i < len(c.op.secondaries) && c.op.secondaries[i] != nil {
		return 1
	}
	return 0
}

// ForwardFLOPs counts the matrix products of the nodes that the build function made, 2
// per multiply-add, causal attention (and what is split off it) at its true half, gathers 0.
func (p *Program) ForwardFLOPs() int {
	flops := 0
	for _, n := range p.builder.g.AllNodes()[:p.forward] {
		if op := opOf(n); op != nil {
			flops += op.runFLOPs(true)
		}
	}
	return flops
}

// runFLOPs counts the matrix products of one run; forward leaves out the gradients that a
// forward op may compute in the same run.
func (op *Op) runFLOPs(forward bool) int {
	if k, ok := op.Primitive.(flopsCounter); ok {
		return k.flops(cost{op, forward})
	}
	return 0
}

// runBytes is the size of what one run reads and writes, each tensor once: its inputs, its
// output and its secondaries'.
func (op *Op) runBytes() int {
	if k, ok := op.Primitive.(bytesCounter); ok {
		return k.bytes(cost{op: op})
	}
	bytes := op.out.bytes()
	for _, s := range op.in {
		bytes += s.bytes()
	}
	for _, c := range op.secondaries {
		if c != nil {
			bytes += c.out.bytes()
		}
	}
	return bytes
}

// matrixFLOPs is a READ's or WRITE's cost: a stream [T, Dk, Dv] with m keys [.., Dk].
func matrixFLOPs(x, keys Signature) int {
	tokens, m, dk, dv := streamSizes(x, keys)
	return 2 * tokens * m * dk * dv
}
