package graph

import "github.com/residua-go/residua/graph/cuda"

// What the ops take of a device's memory in addition to their outputs, for PredictMemory:
// the same sizes as their launches ask for. Sums over blocks and other small pieces of
// scratch are left out, since the logits' is larger.

func (k norm) DeviceNeeds(c Cost) (saved, scratch int) {
	return 2 * k.params(c.Signature(0), c.Signature(1)).Rows * cuda.F32.Size(), 0
}

func (k normRead) DeviceNeeds(c Cost) (saved, scratch int) {
	return 2 * c.Signature(0).Leading() * cuda.F32.Size(), 0
}

func (k normLinear) DeviceNeeds(c Cost) (saved, scratch int) {
	p := k.params(c.Signature(0), c.Signature(1))
	return (3*p.Rows + p.K) * cuda.F32.Size(), 0
}

func (k attention) DeviceNeeds(c Cost) (saved, scratch int) {
	if k.cache != nil {
		return 0, 0
	}
	p := k.params(c.Signature(0))
	return p.Batch * p.Heads * p.Seq * cuda.F32.Size(), 0
}

func (k attentionGrad) DeviceNeeds(c Cost) (saved, scratch int) {
	p := k.of.params(c.Signature(0))
	return 0, p.Batch * p.Heads * p.Seq * cuda.F32.Size()
}

func (k lossKind) DeviceNeeds(c Cost) (saved, scratch int) {
	tokens := c.Signature(0).Leading()
	_, vocab := linear{transposed: k.transposed}.inOut(c.Signature(1))
	stride := logitStride(vocab)
	return 0, (2*tokens + k.chunk(tokens, stride)*stride) * cuda.F32.Size()
}
