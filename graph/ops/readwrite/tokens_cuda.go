package readwrite

import (
	"slices"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Limits of the kernels for sizes that are known at compile time (cuda/tokens.cuh).
const (
	tokenWarps = 4 // warps of a block in which each warp has a token
	stages     = 2 // number of tokens in shared memory

	reservedShared = 1 << 10 // bytes of shared memory of each block that the driver uses itself
)

// tokenSizes returns the sizes [Dk, Dv] for which such kernels exist: those of the RMT presets.
func tokenSizes() [][2]int { return [][2]int{{32, 32}, {32, 64}, {48, 64}, {64, 64}} }

// hasTokenKernels tells whether such kernels exist for the stream and at most the given number of
// keys.
func (s *deviceStream) hasTokenKernels(most int) bool {
	return s.arithmetic == "bf16" && s.aligned && s.m <= most && slices.Contains(tokenSizes(), [2]int{s.dk, s.dv})
}

// perMultiprocessor returns how many blocks with bytes of shared memory each fit on a
// multiprocessor, at most most.
func perMultiprocessor(c *graph.DeviceCall, bytes, most int) int {
	return max(1, min(most, c.SharedMemory()/(bytes+reservedShared)))
}

// writeAndReadGrid returns the grid of the kernels in cuda/write_normread.cu; ok is false if a
// block needs more shared memory than the device has.
func (s *deviceStream) writeAndReadGrid(c *graph.DeviceCall, keys int) (grid cuda.Grid, ok bool) {
	warps, most := tokenWarps, 4 // most blocks for which a multiprocessor has enough registers
	switch {
	case s.dk == 64:
		warps, most = 8, 1 // one large block: gain and keys take a tenth of the shared memory
	case s.dv == 64:
		most = 3
	}
	bytes := 4*s.dk*s.dv + s.size*(inTiles(keys)*streamTile*s.keyRow(s.dk)+warps*stages*(s.dk+streamTile)*s.matrixRow())
	blocks := min(cuda.CeilDiv(s.tokens, warps), s.processors*perMultiprocessor(c, bytes, most))
	return cuda.Grid{X: blocks, Threads: 32 * warps, Shared: bytes}, bytes <= c.SharedMemory()-reservedShared
}

// tokenGrid returns the grid of a kernel in which each warp has a token: as many blocks as run at
// once.
func (s *deviceStream) tokenGrid(c *graph.DeviceCall, bytes int) cuda.Grid {
	registers := min(4, 6-s.dk*s.dv/1024) // blocks for which a multiprocessor has enough registers
	blocks := min(cuda.CeilDiv(s.tokens, tokenWarps), s.processors*perMultiprocessor(c, bytes, registers))
	return cuda.Grid{X: blocks, Threads: 32 * tokenWarps, Shared: bytes}
}

// writeTokenGrid returns the grid of the kernels in cuda/write_tokens.cu.
func (s *deviceStream) writeTokenGrid(c *graph.DeviceCall) cuda.Grid {
	return s.tokenGrid(c, tokenWarps*stages*(s.dk+streamTile)*s.matrixRow()*s.size)
}
