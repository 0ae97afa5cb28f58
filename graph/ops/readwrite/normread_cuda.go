package readwrite

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/norm"
)

func (k normRead) Launch(c *graph.DeviceCall) error {
	y := c.Out()
	x, err := c.InAs(0, y.Type)
	if err != nil {
		return err
	}
	params, err := c.InAll(cuda.F32, 1, 2)
	if err != nil {
		return err
	}
	gain, keys := params[0], params[1]
	s, err := streamOf(c, c.Signature(0), c.Signature(2), y.Type, y, x, gain, keys)
	if err != nil {
		return err
	}
	saved, err := k.saved.OnDevice(c, s.tokens)
	if err != nil {
		return err
	}
	p := k.normParams(s)
	if !s.fitRead(true, false) {
		return normThenRead(c, y, x, gain, keys, saved, p, s)
	}
	given := s.slabs() > 1 // a block never has all of a token: the statistics come first
	if given {
		if err := norm.Forward(c, cuda.Array{}, x, gain, cuda.Array{}, saved, p); err != nil {
			return err
		}
	}
	grid := cuda.Grid{X: s.blocks(768, 512), Z: s.parts(), Threads: 32 * s.warps, Shared: s.bytes}
	args := append([]cuda.Arg{y.Arg(), x.Arg(), gain.Arg(), keys.Arg(), saved.Mean.Arg(), saved.Rstd.Arg()}, s.sizes()...)
	return c.Launch("normread_forward_"+s.arithmetic, grid,
		append(args, cuda.Int(s.part), cuda.Int(s.slab), cuda.Bool(k.RMS), cuda.Bool(given), cuda.Float(k.Eps))...)
}

// normParams are those of the norm of a token's whole matrix.
func (k normRead) normParams(s deviceStream) kernel.NormParams {
	return kernel.NormParams{Rows: s.tokens, Width: s.dk * s.dv, RMS: k.RMS, Eps: k.Eps, Groups: 1}
}

// normThenRead stores the normalised stream: for sizes that fit no block.
func normThenRead(c *graph.DeviceCall, y, x, gain, keys cuda.Array, saved norm.DeviceStats, p kernel.NormParams, s deviceStream) error {
	xn, err := c.Scratch(x.Type, x.N) // [tokens, Dk, Dv]
	if err != nil {
		return err
	}
	if err := norm.Forward(c, xn, x, gain, cuda.Array{}, saved, p); err != nil {
		return err
	}
	return launchRead(c, y, xn, keys, s)
}

// deviceNormReadGrad is a NormRead's backward pass on a device.
type deviceNormReadGrad struct {
	deviceStream
	c             *graph.DeviceCall
	norm          kernel.NormParams
	dy            cuda.Array // [tokens, m, Dv]
	dx, x, addend cuda.Array // [tokens, Dk, Dv]; addend may be none
	gain, keys    cuda.Array // [Dk, Dv], [m, Dk]
	saved         norm.DeviceStats
	dgain, dkeys  graph.SecondarySum
}

func (k normReadGrad) Launch(c *graph.DeviceCall) error {
	g := deviceNormReadGrad{c: c, dx: c.Out()}
	arrays, err := c.InAll(g.dx.Type, 0, 1, 4)
	if err != nil {
		return err
	}
	params, err := c.InAll(cuda.F32, 2, 3)
	if err != nil {
		return err
	}
	g.dy, g.x, g.addend, g.gain, g.keys = arrays[0], arrays[1], arrays[2], params[0], params[1]
	g.deviceStream, err = streamOf(c, c.Signature(1), c.Signature(3), g.dx.Type, g.dx, g.dy, g.x, g.addend, g.gain, g.keys)
	if err != nil {
		return err
	}
	g.norm = k.of.normParams(g.deviceStream)
	if g.saved, err = k.of.saved.OnDevice(c, g.tokens); err != nil {
		return err
	}
	if !g.fit() {
		return g.unfused()
	}
	return g.fused()
}

// fit divides the pass among blocks. A block has slab rows of X and all keys.
func (g *deviceNormReadGrad) fit() bool {
	keyTiles := inTiles(g.m)
	if !g.tileable() || keyTiles > streamTiles {
		return false
	}
	for tiles := min(inTiles(g.dk), streamTiles/max(g.rowTiles(), keyTiles)); tiles > 0; tiles-- {
		g.slab = tiles * streamTile
		g.warps = cuda.CeilDiv(tiles*max(g.rowTiles(), keyTiles), 2)
		g.bytes = (g.slab*(g.keyRow(g.m)+g.matrixRow()) + 2*keyTiles*streamTile*g.matrixRow()) * g.size
		if g.bytes <= sharedMemory {
			return true
		}
	}
	return false
}

// fused makes all gradients in one pass, or, where a block never has all of a token, in
// two, of which the first finds the two sums that all of a token's dX need.
func (g *deviceNormReadGrad) fused() (err error) {
	blocks := g.sumBlocks(512, 512)
	if g.dgain, err = g.c.SecondarySum(0, blocks); err != nil {
		return err
	}
	if g.dkeys, err = g.c.SecondarySum(1, blocks); err != nil {
		return err
	}
	if g.slabs() == 1 {
		err = g.pass("normread_backward_", blocks, cuda.Array{})
	} else {
		err = g.twoPasses(blocks)
	}
	if err != nil {
		return err
	}
	if err := g.dgain.Finish(g.c, 1); err != nil {
		return err
	}
	return g.dkeys.Finish(g.c, 1)
}

func (g *deviceNormReadGrad) twoPasses(blocks int) error {
	sums, err := g.c.Scratch(cuda.F32, 2*g.slabs()*g.tokens) // [slabs, tokens, 2]
	if err != nil {
		return err
	}
	if err := g.pass("normread_backward_sums_", blocks, sums); err != nil {
		return err
	}
	return g.pass("normread_backward_rest_", blocks, sums)
}

func (g *deviceNormReadGrad) pass(name string, blocks int, sums cuda.Array) error {
	args := append([]cuda.Arg{
		g.dx.Arg(), g.dgain.Partial.Arg(), g.dkeys.Partial.Arg(), sums.Arg(), g.dy.Arg(), g.x.Arg(), g.addend.Arg(),
		g.gain.Arg(), g.keys.Arg(), g.saved.Mean.Arg(), g.saved.Rstd.Arg(),
	}, g.sizes()...)
	grid := cuda.Grid{X: blocks, Y: g.slabs(), Threads: 32 * g.warps, Shared: g.bytes}
	return g.c.Launch(name+g.arithmetic, grid, append(args, cuda.Int(g.slab), cuda.Bool(g.norm.RMS))...)
}

// unfused stores N(X) and its gradient: for sizes that fit no block.
func (g *deviceNormReadGrad) unfused() error {
	to, accumulate, err := g.c.SecondaryOut(1)
	if err != nil {
		return err
	}
	if !to.None() {
		if err := g.keysAlone(graph.SecondarySum{To: to, Accumulate: accumulate}); err != nil {
			return err
		}
	}
	dxn, err := g.c.Scratch(g.x.Type, g.x.N) // [tokens, Dk, Dv]
	if err != nil {
		return err
	}
	if err := launchWrite(g.c, dxn, cuda.Array{}, g.keys, g.dy, g.deviceStream); err != nil {
		return err
	}
	n := norm.DeviceGrad{NormParams: g.norm, Call: g.c, Processors: g.processors, DX: g.dx, DY: dxn, X: g.x, Addend: g.addend, Gain: g.gain, Saved: g.saved}
	if n.DGain, err = g.c.SecondarySum(0, n.Teams()); err != nil {
		return err
	}
	return n.Launch()
}

func (g *deviceNormReadGrad) keysAlone(dkeys graph.SecondarySum) error {
	xn, err := g.c.Scratch(g.x.Type, g.x.N) // [tokens, Dk, Dv]
	if err != nil {
		return err
	}
	if err := norm.Forward(g.c, xn, g.x, g.gain, cuda.Array{}, g.saved, g.norm); err != nil {
		return err
	}
	return launchKeysGrad(g.c, dkeys, g.dy, xn, g.deviceStream)
}
