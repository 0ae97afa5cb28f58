package attention

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k attentionPattern) Launch(c *graph.DeviceCall) {
	a := k.onDevice(c, c.Signature(0), 1, k.seq)
	rotated := a.rotated()
	c.Launch("attention_pattern", a.blockEachQuery(),
		c.Out(), rotated, a.starts, a.slopes, cuda.Float(a.Scale), cuda.Ints(a.Seq, a.Heads, a.KVHeads, a.HeadDim))
}

// blockEachQuery returns the grid of a kernel with one block for each query of each head.
func (a *deviceAttention) blockEachQuery() cuda.Grid {
	return cuda.Grid{X: a.pairs() * a.Seq, Threads: 256}
}

// rotated returns the queries and keys of input 0 after rotary positions, [tokens, heads + kvHeads,
// Dh] in 32 bits.
func (a *deviceAttention) rotated() cuda.Array {
	qkv := a.In(0)
	x := a.Scratch(cuda.F32, a.Batch*a.Seq*(a.Heads+a.KVHeads)*a.HeadDim)
	a.Launch("attention_rotate"+qkv.Suffix(), cuda.Over(x.N, 256), x, qkv, a.angles,
		cuda.Long(x.N), cuda.Ints(a.Seq, a.Heads, a.KVHeads, a.HeadDim, a.padded))
	return x
}

func (k attentionPatternGrad) Launch(c *graph.DeviceCall) {
	a := k.of.onDevice(c, c.Signature(0), 3, k.of.seq)
	rotated := a.rotated()
	dlogits := a.logitGradients()
	dqkv := c.Out()
	n := dqkv.N / a.HeadDim * cuda.CeilDiv(a.HeadDim, 2)
	c.Launch("attention_pattern_grad"+dqkv.Suffix(), cuda.Over(n, 256),
		dqkv, dlogits, rotated, a.angles, cuda.Float(a.Scale),
		cuda.Long(n), cuda.Ints(a.Seq, a.Heads, a.KVHeads, a.HeadDim, a.padded))
}

// logitGradients returns the gradient of the logits, given the pattern, input 1, and its gradient,
// input 2.
func (a *deviceAttention) logitGradients() cuda.Array {
	pattern := a.InAs(1, cuda.F32)
	dpattern := a.InAs(2, cuda.F32)
	x := a.Scratch(cuda.F32, pattern.N)
	a.Launch("attention_pattern_logits", a.blockEachQuery(),
		x, pattern, dpattern, a.starts, cuda.Ints(a.Seq, a.Heads))
	return x
}
