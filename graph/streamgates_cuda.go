//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

// perToken is the grid of a kernel with a thread a token: small blocks, to spread few
// tokens over the device.
func perToken(tokens int) cuda.Grid { return cuda.Over(tokens, 64) }

// finishGates ends the gradients of n streams' coefficients: the output holds that of
// zt = alpha[group] z + bias and gets that of z; the secondaries get those of alpha and bias.
func (c *deviceCall) finishGates(n int) error {
	tokens, width := c.op.in[1].leading(), c.op.in[1].width()
	sums, err := c.tokenSums(tokens, width)
	if err != nil {
		return err
	}
	err = c.launch("stream_gates_sums", sums.grid(), c.out().Arg(), sums.partial.Arg(), c.in(1).Arg(), c.in(2).Arg(),
		cuda.Long(tokens), cuda.Int(width), cuda.Int(n), cuda.Int(sums.chunk))
	if err != nil {
		return err
	}
	dalpha, accumulate, err := c.secondaryOut(0)
	if err != nil {
		return err
	}
	if !dalpha.None() {
		if err := sums.groups(c, "totals_groups", dalpha, accumulate, cuda.Int(n), cuda.Int(2*n)); err != nil {
			return err
		}
	}
	dbias, accumulate, err := c.secondaryOut(1)
	if err != nil {
		return err
	}
	return sums.columns(c, dbias, 0, accumulate)
}
