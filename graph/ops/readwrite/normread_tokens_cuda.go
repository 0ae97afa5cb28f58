package readwrite

import (
	"fmt"
	"slices"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Limits of the kernels for sizes that are known when compiling (cuda/tokens.cuh).
const (
	readWarps  = 4  // of a block that reads, each with a token
	stages     = 2  // tokens in shared memory
	tokenWarps = 12 // that a multiprocessor holds of the backward pass
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
	elements := inTiles(s.m)*streamTile*s.keyRow(s.dk) + readWarps*stages*s.dk*s.matrixRow()
	bytes := 4*s.dk*s.dv + s.size*elements
	grid := cuda.Grid{Threads: 32 * readWarps, Shared: bytes}
	grid.X = min(cuda.CeilDiv(s.tokens, readWarps), s.processors*perMultiprocessor(c, bytes, readBlocks(s.dk*s.dv)))
	c.Launch(fmt.Sprintf("normread_forward_%dx%d_bf16", s.dk, s.dv), grid, y, x, gain, keys, mean, rstd,
		cuda.Long(s.tokens), cuda.Int(s.m), cuda.Bool(k.RMS), cuda.Float(k.Eps))
	return true
}

// readBlocks are how many blocks a multiprocessor has registers for, by the entries of a token.
func readBlocks(entries int) int { return min(4, 6-entries/1024) }
