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

// writeVectors are the vectors that a write stores, or their gradient, with the write's keys.
type writeVectors struct {
	c       *graph.DeviceCall // of the write's gradient
	m       int
	v, keys cuda.Array // [tokens, m, Dv], [m, Dk]
}

// byTokens computes all gradients, if there is a kernel for these sizes; with w also those of the
// write that made X.
func (g *deviceNormReadGrad) byTokens(w *writeVectors) bool {
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
	if w != nil {
		bytes += g.size * streamTile * (g.keyRow(g.dk) + stages*g.matrixRow())
	}
	blocks := min(g.processors*perMultiprocessor(g.c, bytes, warps/perBlock), cuda.CeilDiv(g.tokens, 4))
	grid := cuda.Grid{X: blocks, Threads: 32 * perBlock, Shared: bytes}
	g.dgain = g.c.SecondarySum(0, blocks)
	g.dkeys = g.c.SecondarySum(1, blocks)
	sums, name := []graph.SecondarySum{g.dgain, g.dkeys}, "normread_backward"
	args := cuda.Args{g.dx, g.dgain.Partial, g.dkeys.Partial, g.dy, g.x, g.addend, g.gain, g.keys, g.saved.Mean, g.saved.Rstd,
		cuda.Long(g.tokens), cuda.Int(g.m), cuda.Bool(g.norm.RMS)}
	if w != nil {
		dkeys := w.c.SecondarySum(0, blocks)
		sums, name = append(sums, dkeys), "normread_write_backward"
		args = append(args, w.c.Out(), dkeys.Partial, w.keys, w.v, cuda.Int(w.m))
	}
	g.c.Launch(fmt.Sprintf("%s_%dx%d_%d_bf16", name, g.dk, g.dv, keys), grid, args)
	g.c.FinishSums(1, sums...)
	return true
}
