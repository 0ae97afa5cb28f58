package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k mixWrite) Launch(c *graph.DeviceCall) {
	d := k.onDevice(c, c.Signature(0), c.Signature(2))
	in := d.inputs(3, 2)
	out, h, y, coefficients := c.Out(), in[0], in[1], in[2]
	switch {
	case d.small() != "":
		c.Launch(d.name("mix_write"+d.small()), d.forwardGrid(), out, h, y, coefficients, d.sizes())
	case d.Mixes():
		d.combine(out, cuda.Array{}, d.N, false, d.carry(coefficients, h).transposed(), d.up(coefficients, y))
	default:
		d.combine(out, h, d.N, false, d.up(coefficients, y))
	}
}

// mixWriteInputs holds what both forms of mixWriteGrad read.
type mixWriteInputs struct{ dout, h, y, coefficients, addend cuda.Array }

func (k mixWriteGrad) Launch(c *graph.DeviceCall) {
	d := k.of.onDevice(c, c.Signature(0), c.Signature(3))
	in := d.inputs(len(c.Inputs()), 3)
	x := mixWriteInputs{in[0], in[1], in[2], in[3], optionalArray(in, k.addends.h)}
	g := d.gradients(1, k.addends.c)
	dy := c.SecondaryAs(0, d.t)
	d.writeGrad(g, c.Out(), dy, x)
	dy.Deliver()
}

// writeGrad computes mixWriteGrad, or the same of a write without carry.
func (d *deviceMix) writeGrad(g mixGradients, dh cuda.Array, dy graph.SecondaryResult, x mixWriteInputs) {
	if d.small() == "" || !d.Mixes() {
		d.writeGradTiled(g, dh, dy, x)
		return
	}
	grid := d.backwardGrid()
	d.sums(g, grid.X, false, func(dc cuda.Array) {
		d.Launch(d.name("mix_write_grad"+d.small()), grid, dh, dy.Array, dc, x.dout,
			x.h, x.y, x.coefficients, x.addend, g.addend, cuda.Bool(dy.Accumulate), cuda.Bool(g.accumulate), d.sizes())
	})
}

// writeGradTiled computes mixWriteGrad for a stream of any size. It computes dh last, because dh
// may be dout. Without carry it is dout and the addend, and is not computed if it is the zero
// Array. more are further parts of the gradient of C.
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
