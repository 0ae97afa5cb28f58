package attention

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k attentionPattern) Launch(c *graph.DeviceCall) error {
	a, err := k.onDevice(c, c.Signature(0), 1, k.seq)
	if err != nil {
		return err
	}
	rotated, err := a.rotated()
	if err != nil {
		return err
	}
	return c.Launch("attention_pattern", a.blockEachQuery(),
		c.Out().Arg(), rotated.Arg(), a.starts.Arg(), a.slopes.Arg(), cuda.Float(a.Scale), cuda.Int(a.Seq), cuda.Int(a.Heads), cuda.Int(a.KVHeads), cuda.Int(a.HeadDim))
}

// blockEachQuery is the grid of a kernel that has a block for each query of each head.
func (a *deviceAttention) blockEachQuery() cuda.Grid {
	return cuda.Grid{X: a.pairs() * a.Seq, Threads: 256}
}

// rotated are the queries and keys of input 0, rotated by rotary positions, [tokens, heads +
// kvHeads, Dh] in 32 bits.
func (a *deviceAttention) rotated() (cuda.Array, error) {
	qkv := a.In(0)
	x, err := a.Scratch(cuda.F32, a.Batch*a.Seq*(a.Heads+a.KVHeads)*a.HeadDim)
	if err != nil {
		return x, err
	}
	return x, a.Launch("attention_rotate"+qkv.Suffix(), cuda.Over(x.N, 256), x.Arg(), qkv.Arg(), a.angles.Arg(),
		cuda.Long(x.N), cuda.Int(a.Seq), cuda.Int(a.Heads), cuda.Int(a.KVHeads), cuda.Int(a.HeadDim), cuda.Int(a.padded))
}

func (k attentionPatternGrad) Launch(c *graph.DeviceCall) error {
	a, err := k.of.onDevice(c, c.Signature(0), 3, k.of.seq)
	if err != nil {
		return err
	}
	rotated, err := a.rotated()
	if err != nil {
		return err
	}
	dlogits, err := a.logitGradients()
	if err != nil {
		return err
	}
	dqkv := c.Out()
	n := dqkv.N / a.HeadDim * cuda.CeilDiv(a.HeadDim, 2)
	return c.Launch("attention_pattern_grad"+dqkv.Suffix(), cuda.Over(n, 256),
		dqkv.Arg(), dlogits.Arg(), rotated.Arg(), a.angles.Arg(), cuda.Float(a.Scale),
		cuda.Long(n), cuda.Int(a.Seq), cuda.Int(a.Heads), cuda.Int(a.KVHeads), cuda.Int(a.HeadDim), cuda.Int(a.padded))
}

// logitGradients are those of the pattern, input 1, for its gradient, input 2.
func (a *deviceAttention) logitGradients() (cuda.Array, error) {
	pattern, err := a.InAs(1, cuda.F32)
	if err != nil {
		return pattern, err
	}
	dpattern, err := a.InAs(2, cuda.F32)
	if err != nil {
		return dpattern, err
	}
	x, err := a.Scratch(cuda.F32, pattern.N)
	if err != nil {
		return x, err
	}
	return x, a.Launch("attention_pattern_logits", a.blockEachQuery(),
		x.Arg(), pattern.Arg(), dpattern.Arg(), a.starts.Arg(), cuda.Int(a.Seq), cuda.Int(a.Heads))
}
