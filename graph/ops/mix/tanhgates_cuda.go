package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k tanhGates) Launch(c *graph.DeviceCall) error {
	if err := c.Unify(); err != nil {
		return err
	}
	p, y := k.params(c.Signature(0), c.Signature(2)), c.Out()
	return c.Launch("tanh_gates", cuda.Over(y.N, 256), y.Arg(), c.In(0).Arg(), c.In(1).Arg(), c.In(2).Arg(),
		cuda.Long(y.N), cuda.Int(p.N*p.K), cuda.Int(p.K), cuda.Bool(p.Pair), cuda.Float(p.Tau))
}

func (k tanhGatesGrad) Launch(c *graph.DeviceCall) error {
	if err := c.Unify(); err != nil {
		return err
	}
	p := k.of.params(c.Signature(1), c.Signature(2))
	sums, err := c.TokenSums(p.Tokens, p.N*p.K)
	if err != nil {
		return err
	}
	err = c.Launch("tanh_gates_grad", sums.Grid(), c.Out().Arg(), sums.Partial.Arg(), c.In(0).Arg(), c.In(1).Arg(), c.In(2).Arg(),
		cuda.Long(p.Tokens), cuda.Int(p.N*p.K), cuda.Int(p.K), cuda.Bool(p.Pair), cuda.Float(p.Tau), cuda.Int(sums.Chunk))
	if err != nil {
		return err
	}
	dstatic, accumulate, err := c.SecondaryOut(0)
	if err != nil {
		return err
	}
	if err := sums.Columns(c, dstatic, 0, accumulate); err != nil {
		return err
	}
	dscale, accumulate, err := c.SecondaryOut(1)
	if err != nil || dscale.None() {
		return err
	}
	if p.Pair {
		return sums.Groups(c, "totals_pair", dscale, accumulate, cuda.Int(p.K))
	}
	return sums.Columns(c, dscale, 1, accumulate)
}
