package readwrite

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/norm"
)

func (k normRead) Launch(c *graph.DeviceCall) {
	y := c.Out()
	x := c.InAs(0, y.Type)
	params := c.InAll(cuda.F32, 1, 2)
	gain, keys := params[0], params[1]
	s := streamOf(c, c.Signature(0), c.Signature(2), y.Type, y, x, gain, keys)
	saved := k.saved.OnDevice(c, s.tokens)
	if launchNormReadTokens(c, k, s, y, x, gain, keys, saved.Mean, saved.Rstd) {
		return
	}
	p := k.normParams(s)
	if !s.fitRead(true, false) {
		normThenRead(c, y, x, gain, keys, saved, p, s)
		return
	}
	given := s.slabs() > 1 // a block sees only a part of a token, so the statistics are computed first
	if given {
		norm.Forward(c, cuda.Array{}, x, gain, cuda.Array{}, saved, p)
	}
	grid := cuda.Grid{X: s.blocks(768, 512), Z: s.parts(), Threads: 32 * s.warps, Shared: s.bytes}
	c.Launch("normread_forward_"+s.arithmetic, grid,
		y, x, gain, keys, saved.Mean, saved.Rstd, s.sizes(), cuda.Ints(s.part, s.slab), cuda.Bool(k.RMS), cuda.Bool(given), cuda.Float(k.Eps))
}

// normParams returns the sizes of the norm of a token's whole matrix.
func (k normRead) normParams(s deviceStream) kernel.NormParams {
	return kernel.NormParams{Rows: s.tokens, Width: s.dk * s.dv, RMS: k.RMS, Eps: k.Eps, Groups: 1}
}

// normThenRead normalises the stream into scratch memory and then reads it, for sizes that fit
// no block.
func normThenRead(c *graph.DeviceCall, y, x, gain, keys cuda.Array, saved norm.DeviceStats, p kernel.NormParams, s deviceStream) {
	xn := c.Scratch(x.Type, x.N) // [tokens, Dk, Dv]
	norm.Forward(c, xn, x, gain, cuda.Array{}, saved, p)
	launchRead(c, y, xn, keys, s)
}

// deviceNormReadGrad is the backward pass of a NormRead on a device.
type deviceNormReadGrad struct {
	deviceStream
	c             *graph.DeviceCall
	norm          kernel.NormParams
	dy            cuda.Array // [tokens, m, Dv]
	dx, x, addend cuda.Array // [tokens, Dk, Dv]; addend may be the zero Array
	gain, keys    cuda.Array // [Dk, Dv], [m, Dk]
	saved         norm.DeviceStats
	dgain, dkeys  graph.SecondarySum
}

func (k normReadGrad) Launch(c *graph.DeviceCall) {
	g := k.onDevice(c)
	if g.byTokens(nil) {
		return
	}
	if !g.fit() {
		g.unfused()
		return
	}
	g.fused()
}

// Fuses tells whether next computes the gradients of the write that made X: it reads this op's
// output, the gradient of X.
func (k normReadGrad) Fuses(next graph.Next) bool {
	_, ok := next.Primitive.(writeGrad)
	return ok && next.Input == 0
}

// LaunchWith computes the gradients of the read and of the write before it in one pass over X.
func (k normReadGrad) LaunchWith(c, next *graph.DeviceCall) bool {
	g := k.onDevice(c)
	s := streamOf(next, next.Signature(0), next.Signature(1), g.dx.Type, next.Out(), next.In(2))
	if !s.hasTokenKernels(streamTile) || next.In(2).Type != cuda.BF16 {
		return false
	}
	return g.byTokens(&writeVectors{c: next, m: s.m, v: next.In(2), keys: next.InAs(1, cuda.F32)})
}

// onDevice finds the arrays of the pass.
func (k normReadGrad) onDevice(c *graph.DeviceCall) deviceNormReadGrad {
	g := deviceNormReadGrad{c: c, dx: c.Out()}
	arrays := c.InAll(g.dx.Type, 0, 1, 4)
	params := c.InAll(cuda.F32, 2, 3)
	g.dy, g.x, g.addend, g.gain, g.keys = arrays[0], arrays[1], arrays[2], params[0], params[1]
	g.deviceStream = streamOf(c, c.Signature(1), c.Signature(3), g.dx.Type, g.dx, g.dy, g.x, g.addend, g.gain, g.keys)
	g.norm = k.of.normParams(g.deviceStream)
	g.saved = k.of.saved.OnDevice(c, g.tokens)
	return g
}

// fit divides the pass among blocks, each with slab rows of X and all keys. It returns false if no
// division fits.
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

// fused computes all gradients in one pass. If a block sees only a part of a token it takes two
// passes: the first computes two sums over the token that every part of dX needs.
func (g *deviceNormReadGrad) fused() {
	blocks := g.sumBlocks(512, 512)
	g.dgain = g.c.SecondarySum(0, blocks)
	g.dkeys = g.c.SecondarySum(1, blocks)
	if g.slabs() == 1 {
		g.pass("normread_backward_", blocks, cuda.Array{})
	} else {
		sums := g.c.Scratch(cuda.F32, 2*g.slabs()*g.tokens) // [slabs, tokens, 2]
		g.pass("normread_backward_sums_", blocks, sums)
		g.pass("normread_backward_rest_", blocks, sums)
	}
	g.c.FinishSums(1, g.dgain, g.dkeys)
}

func (g *deviceNormReadGrad) pass(name string, blocks int, sums cuda.Array) {
	grid := cuda.Grid{X: blocks, Y: g.slabs(), Threads: 32 * g.warps, Shared: g.bytes}
	g.c.Launch(name+g.arithmetic, grid, g.dx, g.dgain.Partial, g.dkeys.Partial, sums, g.dy, g.x, g.addend,
		g.gain, g.keys, g.saved.Mean, g.saved.Rstd, g.sizes(), cuda.Int(g.slab), cuda.Bool(g.norm.RMS))
}

// unfused computes the gradients in separate passes, which store N(X) and its gradient in
// scratch memory, for sizes that fit no block.
func (g *deviceNormReadGrad) unfused() {
	to, accumulate := g.c.SecondaryOut(1)
	if !to.None() {
		g.keysAlone(graph.SecondarySum{To: to, Accumulate: accumulate})
	}
	dxn := g.c.Scratch(g.x.Type, g.x.N) // [tokens, Dk, Dv]
	launchWrite(g.c, dxn, cuda.Array{}, g.keys, g.dy, g.deviceStream)
	n := norm.DeviceGrad{NormParams: g.norm, Call: g.c, Processors: g.processors, DX: g.dx, DY: dxn, X: g.x, Addend: g.addend, Gain: g.gain, Saved: g.saved}
	n.DGain = g.c.SecondarySum(0, n.Teams())
	n.Launch()
}

func (g *deviceNormReadGrad) keysAlone(dkeys graph.SecondarySum) {
	xn := g.c.Scratch(g.x.Type, g.x.N) // [tokens, Dk, Dv]
	norm.Forward(g.c, xn, g.x, g.gain, cuda.Array{}, g.saved, g.norm)
	launchKeysGrad(g.c, dkeys, g.dy, xn, g.deviceStream)
}
