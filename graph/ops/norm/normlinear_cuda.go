package norm

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// The tile sizes of cuda/normlinear.cuh: rows, entries of a row and columns of w, and the rows for
// which a block computes dx.
const (
	normLinearRows     = 32
	normLinearSlice    = 128
	normLinearColumns  = 32
	normLinearGradRows = 4 * normLinearRows
)

// normLinearSaved is what the forward pass keeps on a device.
type normLinearSaved struct{ mean, rstd, sums cuda.Array }

func normLinearOnDevice(c *graph.DeviceCall, s *graph.Saved, p kernel.NormLinearParams) normLinearSaved {
	all := c.Saved(&s.Device, cuda.F32, 3*p.Rows+p.K)
	return normLinearSaved{all.Slice(0, 2*p.Rows), all.Slice(2*p.Rows, p.Rows), all.Slice(3*p.Rows, p.K)}
}

// Launch computes z on a device.
func (k LinearOp) Launch(c *graph.DeviceCall) {
	k.LaunchOf(c, c.Out(), c.In(0), c.InAs(2, cuda.F32), c.InAs(1, cuda.F32), k.Sizes(c.Signature(0), c.Signature(1)))
}

// LaunchOf computes z from x, whatever op the call is of.
func (k LinearOp) LaunchOf(c *graph.DeviceCall, z, x, gain, w cuda.Array, p kernel.NormLinearParams) {
	saved := normLinearOnDevice(c, k.saved, p)
	grid := cuda.Grid{X: cuda.CeilDiv(p.Rows, normLinearRows), Y: cuda.CeilDiv(p.K, normLinearColumns), Threads: 256}
	c.Launch("norm_linear"+x.Suffix(), grid,
		z, saved.mean, saved.rstd, saved.sums, x, gain, w,
		cuda.Long(p.Rows), cuda.Ints(p.Width, p.K), cuda.Float(p.Eps), cuda.Bool(p.RMS))
}

// DeviceLinearGrad is a backward pass of a LinearOp on a device.
type DeviceLinearGrad struct {
	DZ, Z, X, W, Gain cuda.Array // [rows, K] twice, [rows, width], [width, K], [width]
	DX, AddendX       cuda.Array // [rows, width]
	DW, DGain         int        // numbers of the secondaries with the gradients of w and gain
}

// deviceLinearGrad is a DeviceLinearGrad that runs in a call.
type deviceLinearGrad struct {
	DeviceLinearGrad
	kernel.NormLinearParams
	c *graph.DeviceCall
	normLinearSaved
}

func (k normLinearGrad) Launch(c *graph.DeviceCall) {
	gain := -1
	if k.gain {
		gain = 4
	}
	t := c.Out().Type
	k.of.LaunchGrad(c, DeviceLinearGrad{DZ: c.InAs(0, cuda.F32), Z: c.InAs(1, cuda.F32), X: c.InAs(2, t), W: c.InAs(3, cuda.F32), Gain: c.InAs(gain, cuda.F32),
		DX: c.Out(), AddendX: c.InAs(k.addend(), t), DGain: 1}, k.of.Sizes(c.Signature(2), c.Signature(3)))
}

// LaunchGrad computes the gradients of x, w and gain, whatever op the call is of.
func (k LinearOp) LaunchGrad(c *graph.DeviceCall, of DeviceLinearGrad, p kernel.NormLinearParams) {
	g := deviceLinearGrad{of, p, c, normLinearOnDevice(c, k.saved, p)}
	g.gradX()
	g.gradW()
}

func (g *deviceLinearGrad) gradX() {
	dx := g.DX
	grid := cuda.Grid{X: cuda.CeilDiv(g.Rows, normLinearGradRows), Y: cuda.CeilDiv(g.Width, normLinearSlice), Threads: 256}
	g.c.Launch("norm_linear_grad_x"+dx.Suffix(), grid,
		dx, g.AddendX, g.DZ, g.Z, g.X, g.Gain, g.W, g.mean, g.rstd, g.sums,
		cuda.Long(g.Rows), cuda.Ints(g.Width, g.K), cuda.Bool(g.RMS))
}

// gradW computes the secondaries dw and dgain that were built: first V for blocks of rows in
// parallel, then their sum.
func (g *deviceLinearGrad) gradW() {
	dw, addW, finishW := g.c.FloatSecondary(g.DW)
	dgain, addGain, finishGain := g.c.FloatSecondary(g.DGain)
	if dw.None() && dgain.None() {
		return
	}
	parts, count := g.parts()
	g.c.Launch("norm_linear_collect", cuda.Grid{X: cuda.CeilDiv(g.Width, 8), Threads: 256},
		dw, dgain, parts, g.Gain, g.W,
		cuda.Ints(count, g.Width, g.K), cuda.Bool(addW), cuda.Bool(addGain))
	finishW()
	finishGain()
}

// parts computes V for count blocks of rows [count, width, K]: as many as fill a GPU.
func (g *deviceLinearGrad) parts() (parts cuda.Array, count int) {
	const blocks = 512
	slices, groups := cuda.CeilDiv(g.Width, normLinearSlice), cuda.CeilDiv(g.K, normLinearColumns)
	tiles := cuda.CeilDiv(g.Rows, normLinearRows)
	length := cuda.CeilDiv(tiles, min(tiles, cuda.CeilDiv(blocks, slices*groups))) * normLinearRows
	count = cuda.CeilDiv(g.Rows, length)
	parts = g.c.Scratch(cuda.F32, count*g.Width*g.K)
	g.c.Launch("norm_linear_grad_w"+g.X.Suffix(), cuda.Grid{X: slices, Y: count, Z: groups, Threads: 256},
		parts, g.DZ, g.X, g.mean, g.rstd,
		cuda.Long(g.Rows), cuda.Long(length), cuda.Ints(g.Width, g.K), cuda.Bool(g.RMS))
	return parts, count
}
