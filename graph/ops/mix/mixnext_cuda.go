package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// nextSmall tells whether there are kernels that write and read a stream in one pass: more rows
// would take more registers than a thread has.
func (d *deviceMix) nextSmall() bool { return d.M == 1 && d.small() == "4" }

func (k mixNext) Launch(c *graph.DeviceCall) {
	d := k.onDevice(c, c.Signature(0), c.Signature(2))
	in := d.inputs(2)
	u := c.SecondaryAs(0, d.t)
	if !d.nextSmall() {
		k.mixWrite.Launch(c)
		d.combine(u.Array, cuda.Array{}, d.M, false, d.down(in[2], c.Out()).transposed())
	} else {
		c.Launch(d.name("mix_next4"), d.forwardGrid(), c.Out(), u.Array, in[0], in[1], in[2], d.sizes())
	}
	u.Deliver()
}

func (heldGradient) Launch(c *graph.DeviceCall) {
	if in := c.InAs(0, c.Out().Type); in.Ptr != c.Out().Ptr {
		c.CopyTo(c.Out(), in)
	}
}

func (k mixNextGrad) Launch(c *graph.DeviceCall) {
	d := k.of.onDevice(c, c.Signature(0), c.Signature(5))
	in := d.inputs(5)
	dout, du, next := in[0], in[1], in[2]
	x := mixWriteInputs{dout, in[3], in[4], in[5], optionalArray(in, k.addends.h)}
	g := d.gradients(1, k.addends.c)
	dy := c.SecondaryAs(0, d.t)
	if !d.nextSmall() {
		x.dout = d.Scratch(d.t, dout.N)
		d.combine(x.dout, dout, d.N, false, d.down(x.coefficients, du))
		d.writeGradTiled(g, c.Out(), dy, x, dotProducts{next, du, d.N, d.M, 0})
	} else {
		grid := d.backwardGrid()
		d.sums(g, grid.X, false, func(dc cuda.Array) {
			d.Launch(d.name("mix_next_grad4"), grid, c.Out(), dy.Array, dc, dout, du, next, x.h, x.y, x.coefficients,
				x.addend, g.addend, cuda.Bool(dy.Accumulate), cuda.Bool(g.accumulate), d.sizes())
		})
	}
	dy.Deliver()
}
