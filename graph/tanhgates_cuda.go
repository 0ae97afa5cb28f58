//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (k tanhGates) launch(c *deviceCall) error {
	if err := c.unify(); err != nil {
		return err
	}
	p, y := k.params(c.op.in[0], c.op.in[2]), c.out()
	return c.launch("tanh_gates", cuda.Over(y.N, 256), y.Arg(), c.in(0).Arg(), c.in(1).Arg(), c.in(2).Arg(),
		cuda.Long(y.N), cuda.Int(p.N*p.K), cuda.Int(p.K), cuda.Bool(p.Pair), cuda.Float(p.Tau))
}

func (k tanhGatesGrad) launch(c *deviceCall) error {
	if err := c.unify(); err != nil {
		return err
	}
	p := k.params(c.op.in[1], c.op.in[2])
	sums, err := c.tokenSums(p.Tokens, p.N*p.K)
	if err != nil {
		return err
	}
	err = c.launch("tanh_gates_grad", sums.grid(), c.out().Arg(), sums.partial.Arg(), c.in(0).Arg(), c.in(1).Arg(), c.in(2).Arg(),
		cuda.Long(p.Tokens), cuda.Int(p.N*p.K), cuda.Int(p.K), cuda.Bool(p.Pair), cuda.Float(p.Tau), cuda.Int(sums.chunk))
	if err != nil {
		return err
	}
	dstatic, accumulate, err := c.secondaryOut(0)
	if err != nil {
		return err
	}
	if err := sums.columns(c, dstatic, 0, accumulate); err != nil {
		return err
	}
	dscale, accumulate, err := c.secondaryOut(1)
	if err != nil || dscale.None() {
		return err
	}
	if p.Pair {
		return sums.groups(c, "totals_pair", dscale, accumulate, cuda.Int(p.K))
	}
	return sums.columns(c, dscale, 1, accumulate)
}
