package readwrite

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k write) Launch(c *graph.DeviceCall) error {
	out := c.Out()
	keys, err := c.InAs(0, cuda.F32)
	if err != nil {
		return err
	}
	arrays, err := c.InAll(out.Type, 1, 2) // y, x
	if err != nil {
		return err
	}
	s, err := streamOf(c, c.Result(), c.Signature(0), out.Type, out, keys, arrays[0], arrays[1])
	if err != nil {
		return err
	}
	return launchWrite(c, out, arrays[1], keys, arrays[0], s)
}

// write computes X'_t = X_t + keys^T y_t; x may be none.
func launchWrite(c *graph.DeviceCall, out, x, keys, y cuda.Array, s deviceStream) error {
	args := append([]cuda.Arg{out.Arg(), x.Arg(), keys.Arg(), y.Arg()}, s.sizes()...)
	batch := s.fitWrite()
	if batch == 0 {
		return c.Launch("write_plain"+out.Suffix(), cuda.Over(out.N, 256), args...)
	}
	grid := cuda.Grid{X: min(s.blocks(1024, 768), cuda.CeilDiv(s.tokens, batch)), Y: s.slabs(), Threads: 32 * s.warps, Shared: s.bytes}
	return c.Launch("write_"+s.arithmetic, grid, append(args, cuda.Int(s.slab), cuda.Int(batch))...)
}

// fitWrite divides a pass of cuda/write.cu among blocks and returns the tokens that one
// has at once, so many that each warp has work: 0 if none fit.
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

func (k writeGrad) Launch(c *graph.DeviceCall) error {
	dy := c.Out()
	arrays, err := c.InAll(dy.Type, 0, 2) // g, y
	if err != nil {
		return err
	}
	keys, err := c.InAs(1, cuda.F32)
	if err != nil {
		return err
	}
	g, y := arrays[0], arrays[1]
	s, err := streamOf(c, c.Signature(0), c.Signature(1), dy.Type, dy, g, y, keys)
	if err != nil {
		return err
	}
	to, accumulate, err := c.SecondaryOut(0)
	if err != nil {
		return err
	}
	dkeys := graph.SecondarySum{To: to, Accumulate: accumulate}
	if both := s; !to.None() && both.fitRead(true, true) && both.slabs() == 1 && both.parts() == 1 {
		return launchWriteGrad(c, dy, dkeys, g, keys, y, both)
	}
	if err := launchRead(c, dy, g, keys, s); err != nil {
		return err
	}
	return launchKeysGrad(c, dkeys, y, g, s)
}

// launchWriteGrad computes dy_t = keys G_t and dkeys (+)= sum over tokens of y_t G_t^T.
func launchWriteGrad(c *graph.DeviceCall, dy cuda.Array, dkeys graph.SecondarySum, g, keys, y cuda.Array, s deviceStream) (err error) {
	dkeys.Blocks = s.sumBlocks(512, 512)
	if dkeys.Partial, err = c.Scratch(cuda.F32, dkeys.Blocks*dkeys.To.N); err != nil {
		return err
	}
	args := append([]cuda.Arg{dy.Arg(), dkeys.Partial.Arg(), g.Arg(), keys.Arg(), y.Arg()}, s.sizes()...)
	grid := cuda.Grid{X: dkeys.Blocks, Threads: 32 * s.warps, Shared: s.bytes}
	if err := c.Launch("write_grad_"+s.arithmetic, grid, append(args, cuda.Int(s.slab))...); err != nil {
		return err
	}
	return dkeys.Finish(c, 1)
}
