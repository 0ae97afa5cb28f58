package graph

import "github.com/residua-go/residua/graph/cuda"

// A Primitive may implement these interfaces to tell what one run costs.
type (
	// FLOPCounter is a Primitive that multiplies matrices. A multiply-add counts 2; causal
	// attention, and ops split off it, count the half that they really compute. Products that a
	// backward pass computes only to recompute a forward result, such as attention's logits, do
	// not count: without recomputation a loss and its gradients take three times ForwardFLOPs.
	FLOPCounter interface{ FLOPs(c Cost) int }
	// ByteCounter is a Primitive that does not simply read each input and write each output once:
	// Bytes returns how many bytes one run reads and writes.
	ByteCounter interface{ Bytes(c Cost) int }
	// HostByteCounter is a Primitive that takes much memory while it runs on the CPU.
	HostByteCounter interface {
		HostBytes(c Cost) int
	}
	// DeviceByteCounter is a Primitive that takes device memory in addition to its outputs: memory
	// saved from run to run, and scratch while it runs. Both are in bytes, for PredictMemory. Small
	// pieces may be left out; the scratch memory for logits is the largest.
	DeviceByteCounter interface {
		DeviceBytes(c Cost) (saved, scratch int)
	}
)

// Cost gives a Primitive the signatures by which it counts its cost.
type Cost struct {
	op      *Op
	forward bool // count a forward pass without gradients
}

// Signature returns the signature of input i.
func (c Cost) Signature(i int) Signature { return c.op.in[i] }

// Result returns the signature of the output.
func (c Cost) Result() Signature { return c.op.out }

// Activation returns the type in which a device stores activations.
func (c Cost) Activation() cuda.Type { return c.op.builder.options.Precision.Activation() }

// Secondary returns 1 if the run also computes secondary number i, else 0.
func (c Cost) Secondary(i int) int {
	if !c.forward && i < len(c.op.secondaries) && c.op.secondaries[i] != nil {
		return 1
	}
	return 0
}

// ForwardFLOPs counts the matrix products of the nodes that the build function made: 2 for each
// multiply-add, for causal attention (and ops split off it) the half that is really computed, and 0
// for gathers.
func (p *Program) ForwardFLOPs() int {
	flops := 0
	for _, n := range p.builder.g.AllNodes()[:p.forward] {
		if op := opOf(n); op != nil {
			flops += op.runFLOPs(true)
		}
	}
	return flops
}

// runFLOPs counts the matrix products of one run. With forward, it leaves out gradients that a
// forward op may compute in the same run.
func (op *Op) runFLOPs(forward bool) int {
	if k, ok := op.Primitive.(FLOPCounter); ok {
		return k.FLOPs(Cost{op, forward})
	}
	return 0
}

// runBytes returns the bytes that one run reads and writes, counting each input, the output and
// each secondary once.
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
