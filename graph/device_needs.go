package graph

import "github.com/residua-go/residua/graph/cuda"

// What the ops take of a device's memory in addition to their outputs, for PredictMemory:
// the same sizes as their launches ask for. Sums over blocks and other small pieces of
// scratch are left out, since the logits' is larger.

func (k norm) deviceNeeds(op *Op) (saved, scratch int) {
	return 2 * k.params(op.in[0], op.in[1]).Rows * cuda.F32.Size(), 0
}

func (k normRead) deviceNeeds(op *Op) (saved, scratch int) {
	return 2 * op.in[0].leading() * cuda.F32.Size(), 0
}

func (k normLinear) deviceNeeds(op *Op) (saved, scratch int) {
	p := k.params(op.in[0], op.in[1])
	return (3*p.Rows + p.K) * cuda.F32.Size(), 0
}

func (k attention) deviceNeeds(op *Op) (saved, scratch int) {
	if k.cache != nil {
		return 0, 0
	}
	p := k.params(op.in[0])
	return p.Batch * p.Heads * p.Seq * cuda.F32.Size(), 0
}

func (k attentionGrad) deviceNeeds(op *Op) (saved, scratch int) {
	p := k.params(op.in[0])
	return 0, p.Batch * p.Heads * p.Seq * cuda.F32.Size()
}

func (k lossKind) deviceNeeds(op *Op) (saved, scratch int) {
	tokens := op.in[0].leading()
	_, vocab := linear{transposed: k.transposed}.inOut(op.in[1])
	stride := logitStride(vocab)
	return 0, (2*tokens + k.chunk(tokens, stride)*stride) * cuda.F32.Size()
}

// The gradients use what their forward passes have saved.
func (normGrad) deviceNeeds(*Op) (saved, scratch int) { return 0, 0 }

func (normReadGrad) deviceNeeds(*Op) (saved, scratch int) { return 0, 0 }

func (normLinearGrad) deviceNeeds(*Op) (saved, scratch int) { return 0, 0 }
