package readwrite

import (
	"fmt"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k write) Launch(c *graph.DeviceCall) {
	out := c.Out()
	keys := c.InAs(0, cuda.F32)
	arrays := c.InAll(out.Type, 1, 2) // y, x
	s := streamOf(c, c.Result(), c.Signature(0), out.Type, out, keys, arrays[0], arrays[1])
	launchWrite(c, out, arrays[1], keys, arrays[0], s)
}

// Fuses tells whether next is a NormRead of the written stream.
func (write) Fuses(next graph.Next) bool {
	_, ok := next.Primitive.(normRead)
	return ok && next.Input == 0
}

// LaunchWith writes, and reads what it has written, in one pass over X.
func (k write) LaunchWith(c, next *graph.DeviceCall) bool {
	out, y, arrays := c.Out(), next.Out(), c.InAll(cuda.BF16, 1, 2) // v, x
	s := streamOf(c, c.Result(), c.Signature(0), out.Type, out, arrays[0], arrays[1], y)
	read := streamOf(next, next.Signature(0), next.Signature(2), y.Type, y)
	if !s.hasTokenKernels(streamTile) || !read.hasTokenKernels(64) {
		return false
	}
	grid, ok := s.writeAndReadGrid(c, read.m)
	if !ok {
		return false
	}
	reader := next.Primitive().(normRead)
	saved := reader.saved.OnDevice(next, s.tokens)
	params := next.InAll(cuda.F32, 1, 2) // gain, keys
	c.Launch(fmt.Sprintf("write_normread_%dx%d_bf16", s.dk, s.dv), grid, out, arrays[1], c.InAs(0, cuda.F32), arrays[0],
		y, params[0], params[1], saved.Mean, saved.Rstd,
		cuda.Long(s.tokens), cuda.Ints(s.m, read.m), cuda.Bool(reader.RMS), cuda.Float(reader.Eps))
	return true
}

// launchWrite computes X'_t = X_t + keys^T y_t; x may be the zero Array.
func launchWrite(c *graph.DeviceCall, out, x, keys, y cuda.Array, s deviceStream) {
	if s.hasTokenKernels(streamTile) {
		c.Launch(fmt.Sprintf("write_%dx%d_bf16", s.dk, s.dv), s.writeTokenGrid(c), out, x, keys, y, cuda.Long(s.tokens), cuda.Int(s.m))
		return
	}
	batch := s.fitWrite()
	if batch == 0 {
		c.Launch("write_plain"+out.Suffix(), cuda.Over(out.N, 256), out, x, keys, y, s.sizes())
		return
	}
	grid := cuda.Grid{X: min(s.blocks(1024, 768), cuda.CeilDiv(s.tokens, batch)), Y: s.slabs(), Threads: 32 * s.warps, Shared: s.bytes}
	c.Launch("write_"+s.arithmetic, grid, out, x, keys, y, s.sizes(), cuda.Ints(s.slab, batch))
}

// fitWrite divides a pass of cuda/write.cu among blocks and returns the number of tokens that a
// block handles at once, enough to give each warp work; 0 if none fit.
func (s *deviceStream) fitWrite() (batch int) {
	if !s.tileable() {
		return 0
	}
	s.warps = 8
	rows := inTiles(s.m) * streamTile
	for tiles := inTiles(s.dk); tiles > 0; tiles-- {
		s.slab = tiles * streamTile
		batch = min(s.tokens, max(1, streamTiles/(tiles*s.rowTiles())))
		s.bytes = (s.slab*s.keyRow(s.m) + 2*batch*rows*s.matrixRow()) * s.size
		if s.bytes <= sharedMemory {
			return batch
		}
	}
	return 0
}

func (k writeGrad) Launch(c *graph.DeviceCall) {
	dy := c.Out()
	arrays := c.InAll(dy.Type, 0, 2) // g, y
	keys := c.InAs(1, cuda.F32)
	g, y := arrays[0], arrays[1]
	s := streamOf(c, c.Signature(0), c.Signature(1), dy.Type, dy, g, y, keys)
	to, accumulate := c.SecondaryOut(0)
	dkeys := graph.SecondarySum{To: to, Accumulate: accumulate}
	if !to.None() && s.hasTokenKernels(streamTile) {
		launchWriteGradTokens(c, dy, dkeys, g, keys, y, s)
		return
	}
	if both := s; !to.None() && both.fitRead(true, true) && both.slabs() == 1 && both.parts() == 1 {
		launchWriteGrad(c, dy, dkeys, g, keys, y, both)
		return
	}
	launchRead(c, dy, g, keys, s)
	launchKeysGrad(c, dkeys, y, g, s)
}

// launchWriteGrad computes dy_t = keys G_t and dkeys (+)= sum over tokens of y_t G_t^T.
func launchWriteGrad(c *graph.DeviceCall, dy cuda.Array, dkeys graph.SecondarySum, g, keys, y cuda.Array, s deviceStream) {
	dkeys.Blocks = s.sumBlocks(512, 512)
	dkeys.Partial = c.Scratch(cuda.F32, dkeys.Blocks*dkeys.To.N)
	grid := cuda.Grid{X: dkeys.Blocks, Threads: 32 * s.warps, Shared: s.bytes}
	c.Launch("write_grad_"+s.arithmetic, grid, dy, dkeys.Partial, g, keys, y, s.sizes(), cuda.Int(s.slab))
	dkeys.Finish(c, 1)
}

// launchWriteGradTokens does what launchWriteGrad does, if there is a kernel for the stream's
// sizes.
func launchWriteGradTokens(c *graph.DeviceCall, dy cuda.Array, dkeys graph.SecondarySum, g, keys, y cuda.Array, s deviceStream) {
	grid := s.writeTokenGrid(c)
	dkeys.Blocks = grid.X
	dkeys.Partial = c.Scratch(cuda.F32, dkeys.Blocks*dkeys.To.N)
	c.Launch(fmt.Sprintf("write_grad_%dx%d_bf16", s.dk, s.dv), grid, dy, dkeys.Partial, g, keys, y, cuda.Long(s.tokens), cuda.Int(s.m))
	dkeys.Finish(c, 1)
}
