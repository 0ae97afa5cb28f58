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

func (k normLinear) Launch(c *graph.DeviceCall) {
	p := k.params(c.Signature(0), c.Signature(1))
	saved := normLinearOnDevice(c, k.saved, p)
	w := c.InAs(1, cuda.F32)
	gain := c.InAs(2, cuda.F32)
	x := c.In(0)
	grid := cuda.Grid{X: cuda.CeilDiv(p.Rows, normLinearRows), Y: cuda.CeilDiv(p.K, normLinearColumns), Threads: 256}
	c.Launch("norm_linear"+x.Suffix(), grid,
		c.Out(), saved.mean, saved.rstd, saved.sums, x, gain, w,
		cuda.Long(p.Rows), cuda.Ints(p.Width, p.K), cuda.Float(p.Eps), cuda.Bool(p.RMS))
}

// deviceNormLinearGrad is a backward pass on a device.
type deviceNormLinearGrad struct {
	kernel.NormLinearParams
	c         *graph.DeviceCall
	dz, z     cuda.Array // [rows, K]
	x, addend cuda.Array // [rows, width]
	w, gain   cuda.Array // [width, K], [width]
	normLinearSaved
}

func (k normLinearGrad) Launch(c *graph.DeviceCall) {
	g := deviceNormLinearGrad{NormLinearParams: k.of.params(c.Signature(2), c.Signature(3)), c: c}
	gain := -1
	if k.gain {
		gain = 4
	}
	g.dz, g.z, g.x = c.InAs(0, cuda.F32), c.InAs(1, cuda.F32), c.InAs(2, c.Out().Type)
	g.w, g.gain, g.addend = c.InAs(3, cuda.F32), c.InAs(gain, cuda.F32), c.InAs(k.addend(), c.Out().Type)
	g.normLinearSaved = normLinearOnDevice(c, k.of.saved, g.NormLinearParams)
	g.gradX()
	g.gradW()
}

func (g *deviceNormLinearGrad) gradX() {
	dx := g.c.Out()
	grid := cuda.Grid{X: cuda.CeilDiv(g.Rows, normLinearGradRows), Y: cuda.CeilDiv(g.Width, normLinearSlice), Threads: 256}
	g.c.Launch("norm_linear_grad_x"+dx.Suffix(), grid,
		dx, g.addend, g.dz, g.z, g.x, g.gain, g.w, g.mean, g.rstd, g.sums,
		cuda.Long(g.Rows), cuda.Ints(g.Width, g.K), cuda.Bool(g.RMS))
}

// gradW computes the secondaries dw and dgain that were built: first V for blocks of rows in
// parallel, then their sum.
func (g *deviceNormLinearGrad) gradW() {
	dw, addW, finishW := g.c.FloatSecondary(0)
	dgain, addGain, finishGain := g.c.FloatSecondary(1)
	if dw.None() && dgain.None() {
		return
	}
	parts, count := g.parts()
	g.c.Launch("norm_linear_collect", cuda.Grid{X: cuda.CeilDiv(g.Width, 8), Threads: 256},
		dw, dgain, parts, g.gain, g.w,
		cuda.Ints(count, g.Width, g.K), cuda.Bool(addW), cuda.Bool(addGain))
	finishW()
	finishGain()
}

// parts computes V for count blocks of rows [count, width, K]: as many as fill a GPU.
func (g *deviceNormLinearGrad) parts() (parts cuda.Array, count int) {
	const blocks = 512
	slices, groups := cuda.CeilDiv(g.Width, normLinearSlice), cuda.CeilDiv(g.K, normLinearColumns)
	tiles := cuda.CeilDiv(g.Rows, normLinearRows)
	length := cuda.CeilDiv(tiles, min(tiles, cuda.CeilDiv(blocks, slices*groups))) * normLinearRows
	count = cuda.CeilDiv(g.Rows, length)
	parts = g.c.Scratch(cuda.F32, count*g.Width*g.K)
	g.c.Launch("norm_linear_grad_w"+g.x.Suffix(), cuda.Grid{X: slices, Y: count, Z: groups, Threads: 256},
		parts, g.dz, g.x, g.mean, g.rstd,
		cuda.Long(g.Rows), cuda.Long(length), cuda.Ints(g.Width, g.K), cuda.Bool(g.RMS))
	return parts, count
}
