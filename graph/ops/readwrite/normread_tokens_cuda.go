package readwrite

import (
	"fmt"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// launchNormReadTokens computes y = keys N(X) and the statistics, if there is a kernel for these
// sizes.
func launchNormReadTokens(c *graph.DeviceCall, k normRead, s deviceStream, y, x, gain, keys, mean, rstd cuda.Array) bool {
	if !s.hasTokenKernels(64) {
		return false
	}
	elements := inTiles(s.m)*streamTile*s.keyRow(s.dk) + tokenWarps*stages*s.dk*s.matrixRow()
	c.Launch(fmt.Sprintf("normread_forward_%dx%d_bf16", s.dk, s.dv), s.tokenGrid(c, 4*s.dk*s.dv+s.size*elements), y, x, gain, keys, mean, rstd,
		cuda.Long(s.tokens), cuda.Int(s.m), cuda.Bool(k.RMS), cuda.Float(k.Eps))
	return true
}

// byTokens computes all gradients, if there is a kernel for these sizes.
func (g *deviceNormReadGrad) byTokens() bool {
	if !g.hasTokenKernels(48) {
		return false
	}
	keys, warps := 48, 12 // number of keys that fit; warps for which a multiprocessor has registers
	if g.m <= 16 {
		keys = 16
		if g.dv == 64 {
			warps = 8
		}
	}
	perBlock := g.dk / streamTile // warps, each with its own rows
	bytes := 4*g.dk*g.dv + g.size*(g.dk*g.keyRow(keys)+stages*(2*g.dk+keys)*g.matrixRow())
	blocks := min(g.processors*perMultiprocessor(g.c, bytes, warps/perBlock), cuda.CeilDiv(g.tokens, 4))
	g.dgain = g.c.SecondarySum(0, blocks)
	g.dkeys = g.c.SecondarySum(1, blocks)
	g.c.Launch(fmt.Sprintf("normread_backward_%dx%d_%d_bf16", g.dk, g.dv, keys), cuda.Grid{X: blocks, Threads: 32 * perBlock, Shared: bytes},
		g.dx, g.dgain.Partial, g.dkeys.Partial, g.dy, g.x, g.addend, g.gain, g.keys, g.saved.Mean, g.saved.Rstd,
		cuda.Long(g.tokens), cuda.Int(g.m), cuda.Bool(g.norm.RMS))
	g.dgain.Finish(g.c, 1)
	g.dkeys.Finish(g.c, 1)
	return true
}
