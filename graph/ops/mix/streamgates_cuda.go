package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// perToken is the grid of a kernel with a thread a token: small blocks, to spread few
// tokens over the device.
func perToken(tokens int) cuda.Grid { return cuda.Over(tokens, 64) }

// finishGates ends the gradients of n streams' coefficients: the output holds that of
// zt = alpha[group] z + bias and gets that of z; the secondaries get those of alpha and bias.
func finishGates(c *graph.DeviceCall, n int) error {
	tokens, width := c.Signature(1).Leading(), c.Signature(1).Width()
	sums, err := c.TokenSums(tokens, width)
	if err != nil {
		return err
	}
	err = c.Launch("stream_gates_sums", sums.Grid(), c.Out().Arg(), sums.Partial.Arg(), c.In(1).Arg(), c.In(2).Arg(),
		cuda.Long(tokens), cuda.Int(width), cuda.Int(n), cuda.Int(sums.Chunk))
	if err != nil {
		return err
	}
	dalpha, accumulate, err := c.SecondaryOut(0)
	if err != nil {
		return err
	}
	if !dalpha.None() {
		if err := sums.Groups(c, "totals_groups", dalpha, accumulate, cuda.Int(n), cuda.Int(2*n)); err != nil {
			return err
		}
	}
	dbias, accumulate, err := c.SecondaryOut(1)
	if err != nil {
		return err
	}
	return sums.Columns(c, dbias, 0, accumulate)
}
