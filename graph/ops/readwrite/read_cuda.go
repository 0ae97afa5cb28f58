package readwrite

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// The limits of the kernels on matrix streams (cuda/read.cuh): a block has 8 warps of 2 tiles each,
// and as much shared memory as GPUs of compute capability 8.6 and 8.9, which have the least, allow
// in addition to the kernels' static shared memory.
const (
	streamTile   = 16
	streamTiles  = 16
	sharedMemory = 98 << 10
)

// deviceStream describes a pass over a matrix stream on a device: X [tokens, Dk, Dv], m keys.
type deviceStream struct {
	tokens, m, dk, dv int

	arithmetic   string // fp32, tf32 or bf16: the precision of products
	size         int    // bytes of an activation
	pad, keyPad  int    // padding, in elements, between rows of matrices and of keys in shared memory
	aligned      bool   // all arrays are aligned to 16 bytes
	processors   int    // multiprocessors of the GPU
	slab, part   int    // number of rows of X and of keys that a block holds at once
	warps, bytes int    // warps and bytes of shared memory of a block
}

// streamOf describes a pass whose activations have type t.
func streamOf(c *graph.DeviceCall, x, keys graph.Signature, t cuda.Type, arrays ...cuda.Array) (s deviceStream) {
	s.size, s.aligned = t.Size(), cuda.Aligned16(arrays...)
	s.processors = max(1, c.Multiprocessors())
	s.tokens, s.m, s.dk, s.dv = streamSizes(x, keys)
	switch {
	case t == cuda.BF16:
		s.arithmetic, s.pad, s.keyPad = "bf16", 8, 8
	case c.Precision() == cuda.PrecisionFP32:
		s.arithmetic, s.pad, s.keyPad = "fp32", 4, 4
	default:
		s.arithmetic, s.pad, s.keyPad = "tf32", 8, 4
	}
	return s
}

// inTiles returns the number of tiles that n rows take.
func inTiles(n int) int { return cuda.CeilDiv(n, streamTile) }

// matrixRow and keyRow return the distance, in elements, between rows in shared memory: rows of Dv
// entries, and rows of n keys' entries.
func (s *deviceStream) matrixRow() int   { return inTiles(s.dv)*streamTile + s.pad }
func (s *deviceStream) keyRow(n int) int { return inTiles(n)*streamTile + s.keyPad }
func (s *deviceStream) rowTiles() int    { return inTiles(s.dv) }
func (s *deviceStream) slabs() int       { return cuda.CeilDiv(s.dk, s.slab) }
func (s *deviceStream) parts() int       { return cuda.CeilDiv(s.m, s.part) }
func (s *deviceStream) tileable() bool {
	return s.aligned && s.dv%8 == 0 && s.rowTiles() <= streamTiles
}
func (s *deviceStream) sizes() cuda.Args {
	return cuda.Args{cuda.Long(s.tokens), cuda.Ints(s.m, s.dk, s.dv)}
}

// fitRead divides a pass of cuda/read.cuh, which reads, sums the keys' gradient or does both, among
// blocks. It returns false if no division fits.
func (s *deviceStream) fitRead(read, keys bool) bool {
	if !s.tileable() {
		return false
	}
	s.slab = min(inTiles(s.dk), streamTiles/s.rowTiles()) * streamTile
	across := s.rowTiles()
	if keys {
		across = max(across, s.slab/streamTile)
	}
	for rows := min(inTiles(s.m), streamTiles/across); rows > 0; rows-- {
		s.part = rows * streamTile
		elements := s.slab * s.matrixRow()
		if read {
			elements += s.part * s.keyRow(s.dk)
		}
		if keys {
			elements += 2 * s.part * s.matrixRow()
		}
		if s.bytes = elements * s.size; s.bytes <= sharedMemory {
			s.warps = cuda.CeilDiv(max(s.slab/streamTile*s.rowTiles(), rows*across), 2)
			return true
		}
	}
	return false
}

// blocks returns how many blocks run at once. bf16 and others are the numbers of threads for which
// a multiprocessor has registers, if they run the kernel in precision bf16 or in another precision.
func (s *deviceStream) blocks(bf16, others int) int {
	threads := others
	if s.arithmetic == "bf16" {
		threads = bf16
	}
	return max(1, min(s.tokens, s.processors*(threads/(32*s.warps))))
}

// sumBlocks returns the number of blocks of a pass that sums over tokens: at most a quarter of the
// blocks that run at once.
func (s *deviceStream) sumBlocks(bf16, others int) int {
	return min(s.blocks(bf16, others), cuda.CeilDiv(s.tokens, 4))
}

func (read) Launch(c *graph.DeviceCall) {
	x := c.InAs(0, c.Out().Type)
	keys := c.InAs(1, cuda.F32)
	s := streamOf(c, c.Signature(0), c.Signature(1), x.Type, c.Out(), x, keys)
	launchRead(c, c.Out(), x, keys, s)
}

// launchRead computes y_t = keys X_t.
func launchRead(c *graph.DeviceCall, y, x, keys cuda.Array, s deviceStream) {
	if !s.fitRead(true, false) {
		c.Launch("read_plain"+y.Suffix(), cuda.Over(y.N, 256), y, x, keys, s.sizes())
		return
	}
	grid := cuda.Grid{X: s.blocks(768, 512), Z: s.parts(), Threads: 32 * s.warps, Shared: s.bytes}
	c.Launch("read_"+s.arithmetic, grid, y, x, keys, s.sizes(), cuda.Ints(s.part, s.slab))
}

func (k keysGrad) Launch(c *graph.DeviceCall) {
	arrays := c.InAll(c.Activation(), 0, 1)
	s := streamOf(c, c.Signature(1), c.Result(), c.Activation(), arrays...)
	launchKeysGrad(c, graph.SecondarySum{To: c.Out(), Accumulate: c.Accumulate()}, arrays[0], arrays[1], s)
}

// launchKeysGrad computes dkeys (+)= sum over tokens of y_t X_t^T.
func launchKeysGrad(c *graph.DeviceCall, dkeys graph.SecondarySum, y, x cuda.Array, s deviceStream) {
	if dkeys.To.None() {
		return
	}
	if !s.fitRead(false, true) {
		keysGradPlain(c, dkeys, y, x, s)
		return
	}
	dkeys.Blocks = s.sumBlocks(768, 512)
	dkeys.Partial = c.Scratch(cuda.F32, dkeys.Blocks*dkeys.To.N)
	grid := cuda.Grid{X: dkeys.Blocks, Y: s.slabs(), Z: s.parts(), Threads: 32 * s.warps, Shared: s.bytes}
	c.Launch("keys_grad_"+s.arithmetic, grid, dkeys.Partial, y, x, s.sizes(), cuda.Ints(s.part, s.slab))
	dkeys.Finish(c, 1)
}

// keysGradPlain does what launchKeysGrad does, for sizes that fit no block, by a single sum
// over all tokens.
func keysGradPlain(c *graph.DeviceCall, dkeys graph.SecondarySum, y, x cuda.Array, s deviceStream) {
	dkeys.Blocks = 1
	dkeys.Partial = c.Scratch(cuda.F32, dkeys.To.N)
	c.Launch("keys_grad_plain"+x.Suffix(), cuda.Grid{X: dkeys.To.N, Threads: 256}, dkeys.Partial, y, x, s.sizes())
	dkeys.Finish(c, 1)
}
