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
func finishGates(c *graph.DeviceCall, n int) {
	tokens, width := c.Signature(1).Leading(), c.Signature(1).Width()
	sums := c.TokenSums(tokens, width)
	c.Launch("stream_gates_sums", sums.Grid(), c.Out(), sums.Partial, c.In(1), c.In(2),
		cuda.Long(tokens), cuda.Ints(width, n, sums.Chunk))
	dalpha, accumulate := c.SecondaryOut(0)
	if !dalpha.None() {
		sums.Groups(c, "totals_groups", dalpha, accumulate, cuda.Ints(n, 2*n))
	}
	dbias, accumulate := c.SecondaryOut(1)
	sums.Columns(c, dbias, 0, accumulate)
}
