package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/ops/norm"
)

// nextSmall tells whether there are kernels that write and read a stream in one pass: more rows
// would take more registers than a thread has.
func (d *deviceMix) nextSmall() bool { return d.M == 1 && d.small() == "4" }

func (k mixWrite) Launch(c *graph.DeviceCall) {
	d := k.onDevice(c, c.Signature(0), c.Signature(2))
	in, u := d.inputs(3, 2), c.SecondaryAs(0, d.t)
	out, h, y, coefficients := c.Out(), in[0], in[1], in[2]
	fused := !u.Array.None() && d.nextSmall()
	switch {
	case fused:
		c.Launch(d.name("mix_next4"), d.forwardGrid(), out, u.Array, h, y, coefficients, d.sizes())
	case d.small() != "":
		c.Launch(d.name("mix_write"+d.small()), d.forwardGrid(), out, h, y, coefficients, d.sizes())
	case d.Mixes():
		d.combine(out, cuda.Array{}, d.N, false, d.carry(coefficients, h).transposed(), d.up(coefficients, y))
	default:
		d.combine(out, h, d.N, false, d.up(coefficients, y))
	}
	if !u.Array.None() && !fused {
		d.combine(u.Array, cuda.Array{}, d.M, false, d.down(coefficients, out).transposed())
	}
	u.Deliver()
	if k.projects {
		z, _, finish := c.FloatSecondary(1)
		k.linear.LaunchOf(c, z, out, c.InAs(4, cuda.F32), c.InAs(3, cuda.F32), k.linear.Sizes(c.Signature(0), c.Signature(3)))
		finish()
	}
}

// mixWriteInputs holds what all forms of mixWriteGrad read.
type mixWriteInputs struct{ dout, h, y, coefficients, addend cuda.Array }

func (k mixWriteGrad) Launch(c *graph.DeviceCall) {
	d := k.of.onDevice(c, c.Signature(1), c.Signature(3))
	as := func(i int) cuda.Array { return c.InAs(i, d.t) }
	out, du := as(k.out), as(k.du)
	x := mixWriteInputs{k.projected(d, as(0), out), as(1), as(2), c.InAs(3, cuda.F32), as(k.addends.h)}
	g := d.gradients(1, k.addends.c)
	dy := c.SecondaryAs(0, d.t)
	grid := d.backwardGrid()
	switch {
	case du.None() && d.small() != "" && d.Mixes():
		d.sums(g, grid.X, false, func(dc cuda.Array) {
			d.Launch(d.name("mix_write_grad"+d.small()), grid, c.Out(), dy.Array, dc, x.dout,
				x.h, x.y, x.coefficients, x.addend, g.addend, cuda.Bool(dy.Accumulate), cuda.Bool(g.accumulate), d.sizes())
		})
	case du.None():
		d.writeGradTiled(g, c.Out(), dy, x)
	case d.nextSmall():
		d.sums(g, grid.X, false, func(dc cuda.Array) {
			d.Launch(d.name("mix_next_grad4"), grid, c.Out(), dy.Array, dc, x.dout, du, out, x.h, x.y, x.coefficients,
				x.addend, g.addend, cuda.Bool(dy.Accumulate), cuda.Bool(g.accumulate), d.sizes())
		})
	default:
		sum := d.Scratch(d.t, x.dout.N)
		d.combine(sum, x.dout, d.N, false, d.down(x.coefficients, du))
		x.dout = sum
		d.writeGradTiled(g, c.Out(), dy, x, dotProducts{out, du, d.N, d.M, 0})
	}
	dy.Deliver()
}

// projected returns the stream's gradient with what the projection adds to it, and computes the
// gradients of the projection's weights.
func (k mixWriteGrad) projected(d *deviceMix, dout, out cuda.Array) cuda.Array {
	if k.dz < 0 {
		return dout
	}
	sum, w := d.Scratch(d.t, dout.N), k.dz+2
	k.of.linear.LaunchGrad(d.DeviceCall, norm.DeviceLinearGrad{DZ: d.InAs(k.dz, cuda.F32), Z: d.InAs(k.dz+1, cuda.F32), X: out, W: d.InAs(w, cuda.F32),
		Gain: d.InAs(k.gain, cuda.F32), DX: sum, AddendX: dout, DW: 2, DGain: 3}, k.of.linear.Sizes(d.Signature(1), d.Signature(w)))
	return sum
}

// writeGradTiled computes mixWriteGrad for a stream of any size. It computes dh last, because dh
// may be dout. Without carry, dh is the sum of dout and the addend, and is left out if dh is the
// zero Array. more lists further parts of the gradient of C.
func (d *deviceMix) writeGradTiled(g mixGradients, dh cuda.Array, dy graph.SecondaryResult, x mixWriteInputs, more ...dotProducts) {
	products := []dotProducts{{x.dout, x.y, d.N, d.M, d.Columns() - d.M}}
	if d.Mixes() {
		products = append(products, dotProducts{x.h, x.dout, d.N, d.N, d.M})
	}
	d.dots(g, append(products, more...)...)
	if !dy.Array.None() {
		d.combine(dy.Array, cuda.Array{}, d.M, dy.Accumulate, d.up(x.coefficients, x.dout).transposed())
	}
	switch {
	case d.Mixes():
		d.combine(dh, x.addend, d.N, false, d.carry(x.coefficients, x.dout))
	case !dh.None():
		terms := []cuda.Array{x.dout}
		if !x.addend.None() {
			terms = append(terms, x.addend)
		}
		d.Sum(dh, terms, false)
	}
}

func (k mixUpGrad) Launch(c *graph.DeviceCall) {
	d := k.of.onDevice(c, c.Signature(0), c.Signature(2))
	in := d.inputs(len(c.Inputs()), 2)
	g := d.gradients(0, k.addend)
	d.writeGradTiled(g, cuda.Array{}, graph.SecondaryResult{Array: c.Out()}, mixWriteInputs{dout: in[0], y: in[1], coefficients: in[2]})
}
