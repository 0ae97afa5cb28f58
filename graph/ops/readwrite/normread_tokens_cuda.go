package readwrite

import (
	"fmt"
	"slices"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Limits of the kernels for sizes that are known when compiling (cuda/tokens.cuh).
const (
	tokenWarps = 4 // of a block whose warps each have a token
	stages     = 2 // tokens in shared memory
)

// tokenSizes are the [Dk, Dv] that there are kernels for: those of the RMT presets.
func tokenSizes() [][2]int { return [][2]int{{32, 32}, {32, 64}, {48, 64}, {64, 64}} }

// hasTokenKernels tells whether there are such kernels for the stream and so many keys.
func (s *deviceStream) hasTokenKernels(most int) bool {
	return s.arithmetic == "bf16" && s.aligned && s.m <= most && slices.Contains(tokenSizes(), [2]int{s.dk, s.dv})
}

// perMultiprocessor is how many blocks that have so much shared memory each a multiprocessor holds, at most most.
func perMultiprocessor(c *graph.DeviceCall, bytes, most int) int {
	const own = 1 << 10 // what the driver keeps for itself of each block's
	return max(1, min(most, c.SharedMemory()/(bytes+own)))
}

// launchNormReadTokens computes y = keys N(X) and the statistics where there is a kernel for it.
func launchNormReadTokens(c *graph.DeviceCall, k normRead, s deviceStream, y, x, gain, keys, mean, rstd cuda.Array) bool {
	if !s.hasTokenKernels(64) {
		return false
	}
	elements := inTiles(s.m)*streamTile*s.keyRow(s.dk) + tokenWarps*stages*s.dk*s.matrixRow()
	c.Launch(fmt.Sprintf("normread_forward_%dx%d_bf16", s.dk, s.dv), s.tokenGrid(c, 4*s.dk*s.dv+s.size*elements), y, x, gain, keys, mean, rstd,
		cuda.Long(s.tokens), cuda.Int(s.m), cuda.Bool(k.RMS), cuda.Float(k.Eps))
	return true
}

// tokenGrid is that of a kernel whose warps each have a token: as many blocks as run at once.
func (s *deviceStream) tokenGrid(c *graph.DeviceCall, bytes int) cuda.Grid {
	registers := min(4, 6-s.dk*s.dv/1024) // blocks that a multiprocessor has enough of for
	blocks := min(cuda.CeilDiv(s.tokens, tokenWarps), s.processors*perMultiprocessor(c, bytes, registers))
	return cuda.Grid{X: blocks, Threads: 32 * tokenWarps, Shared: bytes}
}

// writeTokenGrid is that of the kernels of cuda/write_tokens.cu.
func (s *deviceStream) writeTokenGrid(c *graph.DeviceCall) cuda.Grid {
	return s.tokenGrid(c, tokenWarps*stages*(s.dk+streamTile)*s.matrixRow()*s.size)
}

// byTokens makes all gradients where there is a kernel for it.
func (g *deviceNormReadGrad) byTokens() bool {
	if !g.hasTokenKernels(48) {
		return false
	}
	keys, warps := 48, 12 // keys that fit, warps that a multiprocessor has registers for
	if g.m <= 16 {
		keys = 16
		if g.dv == 64 {
			warps = 8
		}
	}
	perBlock := g.dk / streamTile // warps, each with rows of its own
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
