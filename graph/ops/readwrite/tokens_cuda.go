package readwrite

import (
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
