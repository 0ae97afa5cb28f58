package graph

import "github.com/residua-go/residua/graph/cuda"

// Optional abilities of a Primitive: what one run costs.
type (
	// FLOPCounter is a Primitive that multiplies matrices: 2 a multiply-add, causal attention
	// (and what is split off it) at its true half. Products that a backward pass only repeats
	// to have the forward pass's numbers again (attention's logits) are not counted, so that
	// without recomputation a loss and its gradients come to three times ForwardFLOPs.
	FLOPCounter interface{ FLOPs(c Cost) int }
	// ByteCounter is a Primitive that does not read each input and write each output once.
	ByteCounter interface{ Bytes(c Cost) int }
	// DeviceByteCounter is a Primitive that takes device memory in addition to its outputs: saved
	// from run to run, scratch while it runs. Both in bytes, for PredictMemory, which leaves
	// out small pieces: the logits' scratch is the largest.
	DeviceByteCounter interface {
		DeviceBytes(c Cost) (saved, scratch int)
	}
)

// Cost is what a Primitive counts by: its op's signatures.
type Cost struct {
	op      *Op
	forward bool // as part of a forward pass alone
}

// Signature is that of input i.
func (c Cost) Signature(i int) Signature { return c.op.in[i] }

// Result is the signature of the output.
func (c Cost) Result() Signature { return c.op.out }

// Activation is the type that activations have on a device.
func (c Cost) Activation() cuda.Type { return c.op.builder.options.Precision.Activation() }

// Secondary is 1 if the run also computes the secondary of that number, else 0.
func (c Cost) Secondary(i int) int {
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
	if k, ok := op.Primitive.(FLOPCounter); ok {
		return k.FLOPs(Cost{op, forward})
	}
	return 0
}

// runBytes is the size of what one run reads and writes, each tensor once: its inputs, its
// output and its secondaries'.
func (op *Op) runBytes() int {
	if k, ok := op.Primitive.(ByteCounter); ok {
		return k.Bytes(Cost{op: op})
	}
	bytes := op.out.Bytes()
	for i, s := range op.in {
		if w := op.weightsOf(i); w != nil {
			bytes += w.Bytes()
		} else {
			bytes += s.Bytes()
		}
	}
	for _, c := range op.secondaries {
		if c != nil {
			bytes += c.out.Bytes()
		}
	}
	return bytes
}
