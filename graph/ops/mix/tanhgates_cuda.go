package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k tanhGates) Launch(c *graph.DeviceCall) {
	c.Unify()
	p, y := k.params(c.Signature(0), c.Signature(2)), c.Out()
	c.Launch("tanh_gates", cuda.Over(y.N, 256), y, c.In(0), c.In(1), c.In(2),
		cuda.Long(y.N), cuda.Ints(p.N*p.K, p.K), cuda.Bool(p.Pair), cuda.Float(p.Tau))
}

func (k tanhGatesGrad) Launch(c *graph.DeviceCall) {
	c.Unify()
	p := k.of.params(c.Signature(1), c.Signature(2))
	sums := c.TokenSums(p.Tokens, p.N*p.K)
	c.Launch("tanh_gates_grad", sums.Grid(), c.Out(), sums.Partial, c.In(0), c.In(1), c.In(2),
		cuda.Long(p.Tokens), cuda.Ints(p.N*p.K, p.K), cuda.Bool(p.Pair), cuda.Float(p.Tau), cuda.Int(sums.Chunk))
	dstatic, accumulate := c.SecondaryOut(0)
	sums.Columns(c, dstatic, 0, accumulate)
	dscale, accumulate := c.SecondaryOut(1)
	if dscale.None() {
		return
	}
	if p.Pair {
		sums.Groups(c, "totals_pair", dscale, accumulate, cuda.Int(p.K))
		return
	}
	sums.Columns(c, dscale, 1, accumulate)
}
