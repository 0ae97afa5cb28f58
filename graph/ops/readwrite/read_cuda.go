package readwrite

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// The limits of the kernels on matrix streams (cuda/read.cuh): a block has 8 warps of 2
// tiles each, and as much shared memory as GPUs of compute capability 8.6 and 8.9, which have the least, allow
// beside what the kernels have of their own.
const (
	streamTile   = 16
	streamTiles  = 16
	sharedMemory = 98 << 10
)

// deviceStream is a pass over a matrix stream on a device: X [tokens, Dk, Dv], m keys.
type deviceStream struct {
	tokens, m, dk, dv int

	arithmetic   string // fp32, tf32 or bf16: how products are computed
	size         int    // bytes of an activation
	pad, keyPad  int    // elements between the rows of matrices and of keys in shared memory
	aligned      bool   // all arrays are, to 16 bytes
	processors   int    // of the GPU
	slab, part   int    // rows of X and keys that a block has at once
	warps, bytes int    // of a block; bytes of shared memory
}

// stream describes a pass whose activations are of type t.
func streamOf(c *graph.DeviceCall, x, keys graph.Signature, t cuda.Type, arrays ...cuda.Array) (s deviceStream, err error) {
	s.size, s.aligned = t.Size(), cuda.Aligned16(arrays...)
	s.processors, err = c.Device().Multiprocessors()
	s.tokens, s.m, s.dk, s.dv = streamSizes(x, keys)
	switch {
	case t == cuda.BF16:
		s.arithmetic, s.pad, s.keyPad = "bf16", 8, 8
	case c.Device().Precision() == cuda.PrecisionFP32:
		s.arithmetic, s.pad, s.keyPad = "fp32", 4, 4
	default:
		s.arithmetic, s.pad, s.keyPad = "tf32", 8, 4
	}
	return s, err
}

// inTiles is n in tiles.
func inTiles(n int) int { return cuda.CeilDiv(n, streamTile) }

// matrixRow and keyRow are the elements from a row of Dv, and of n keys' entries, to the
// next in shared memory.
func (s *deviceStream) matrixRow() int   { return inTiles(s.dv)*streamTile + s.pad }
func (s *deviceStream) keyRow(n int) int { return inTiles(n)*streamTile + s.keyPad }
func (s *deviceStream) rowTiles() int    { return inTiles(s.dv) }
func (s *deviceStream) slabs() int       { return cuda.CeilDiv(s.dk, s.slab) }
func (s *deviceStream) parts() int       { return cuda.CeilDiv(s.m, s.part) }
func (s *deviceStream) tileable() bool {
	return s.aligned && s.dv%8 == 0 && s.rowTiles() <= streamTiles
}
func (s *deviceStream) sizes() []cuda.Arg { return streamArgs(s.tokens, s.m, s.dk, s.dv) }

func streamArgs(tokens int, sizes ...int) []cuda.Arg {
	args := []cuda.Arg{cuda.Long(tokens)}
	for _, n := range sizes {
		args = append(args, cuda.Int(n))
	}
	return args
}

// fitRead divides a pass of cuda/read.cuh, which reads, sums the keys' gradient or both,
// among blocks. False: no division fits.
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

// blocks are as many as run at once where a multiprocessor holds that many threads of the
// kernel, by its registers, in precision bf16 and in others.
func (s *deviceStream) blocks(bf16, others int) int {
	threads := others
	if s.arithmetic == "bf16" {
		threads = bf16
	}
	return max(1, min(s.tokens, s.processors*(threads/(32*s.warps))))
}

// sumBlocks are those of a pass that sums over tokens: no more than a quarter of these.
func (s *deviceStream) sumBlocks(bf16, others int) int {
	return min(s.blocks(bf16, others), cuda.CeilDiv(s.tokens, 4))
}

func (read) Launch(c *graph.DeviceCall) error {
	x, err := c.InAs(0, c.Out().Type)
	if err != nil {
		return err
	}
	keys, err := c.InAs(1, cuda.F32)
	if err != nil {
		return err
	}
	s, err := streamOf(c, c.Signature(0), c.Signature(1), x.Type, c.Out(), x, keys)
	if err != nil {
		return err
	}
	return launchRead(c, c.Out(), x, keys, s)
}

// read computes y_t = keys X_t.
func launchRead(c *graph.DeviceCall, y, x, keys cuda.Array, s deviceStream) error {
	args := append([]cuda.Arg{y.Arg(), x.Arg(), keys.Arg()}, s.sizes()...)
	if !s.fitRead(true, false) {
		return c.Launch("read_plain"+y.Suffix(), cuda.Over(y.N, 256), args...)
	}
	grid := cuda.Grid{X: s.blocks(768, 512), Z: s.parts(), Threads: 32 * s.warps, Shared: s.bytes}
	return c.Launch("read_"+s.arithmetic, grid, append(args, cuda.Int(s.part), cuda.Int(s.slab))...)
}

func (k keysGrad) Launch(c *graph.DeviceCall) error {
	arrays, err := c.InAll(c.Activation(), 0, 1)
	if err != nil {
		return err
	}
	s, err := streamOf(c, c.Signature(1), k.keys, c.Activation(), arrays...)
	if err != nil {
		return err
	}
	return launchKeysGrad(c, graph.SecondarySum{To: c.Out(), Accumulate: c.Accumulate()}, arrays[0], arrays[1], s)
}

// keysGrad computes dkeys (+)= sum over tokens of y_t X_t^T.
func launchKeysGrad(c *graph.DeviceCall, dkeys graph.SecondarySum, y, x cuda.Array, s deviceStream) (err error) {
	if dkeys.To.None() {
		return nil
	}
	if !s.fitRead(false, true) {
		return keysGradPlain(c, dkeys, y, x, s)
	}
	dkeys.Blocks = s.sumBlocks(768, 512)
	if dkeys.Partial, err = c.Scratch(cuda.F32, dkeys.Blocks*dkeys.To.N); err != nil {
		return err
	}
	grid := cuda.Grid{X: dkeys.Blocks, Y: s.slabs(), Z: s.parts(), Threads: 32 * s.warps, Shared: s.bytes}
	args := append([]cuda.Arg{dkeys.Partial.Arg(), y.Arg(), x.Arg()}, s.sizes()...)
	if err := c.Launch("keys_grad_"+s.arithmetic, grid, append(args, cuda.Int(s.part), cuda.Int(s.slab))...); err != nil {
		return err
	}
	return dkeys.Finish(c, 1)
}

// keysGradPlain is for sizes that fit no block: one partial sum, of all tokens.
func keysGradPlain(c *graph.DeviceCall, dkeys graph.SecondarySum, y, x cuda.Array, s deviceStream) (err error) {
	dkeys.Blocks = 1
	if dkeys.Partial, err = c.Scratch(cuda.F32, dkeys.To.N); err != nil {
		return err
	}
	args := append([]cuda.Arg{dkeys.Partial.Arg(), y.Arg(), x.Arg()}, s.sizes()...)
	if err := c.Launch("keys_grad_plain"+x.Suffix(), cuda.Grid{X: dkeys.To.N, Threads: 256}, args...); err != nil {
		return err
	}
	return dkeys.Finish(c, 1)
}
