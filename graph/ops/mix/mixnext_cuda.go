package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/ops/norm"
)

// nextSmall tells whether there are kernels that write and read a stream in one pass: more rows
// would take more registers than a thread has.
func (d *deviceMix) nextSmall() bool { return d.M == 1 && d.small() == "4" }

func (k mixNext) Launch(c *graph.DeviceCall) {
	d := k.onDevice(c, c.Signature(0), c.Signature(2))
	u := c.SecondaryAs(0, d.t)
	switch {
	case u.Array.None():
		k.mixWrite.Launch(c)
	case !d.nextSmall():
		k.mixWrite.Launch(c)
		d.combine(u.Array, cuda.Array{}, d.M, false, d.down(c.InAs(2, cuda.F32), c.Out()).transposed())
	default:
		in := d.inputs(3, 2)
		c.Launch(d.name("mix_next4"), d.forwardGrid(), c.Out(), u.Array, in[0], in[1], in[2], d.sizes())
	}
	u.Deliver()
	if k.projects {
		z, _, finish := c.FloatSecondary(1)
		k.linear.LaunchOf(c, z, c.Out(), c.InAs(4, cuda.F32), c.InAs(3, cuda.F32), k.linear.Sizes(c.Signature(0), c.Signature(3)))
		finish()
	}
}

func (heldGradient) Launch(c *graph.DeviceCall) {
	if in := c.InAs(0, c.Out().Type); in.Ptr != c.Out().Ptr {
		c.CopyTo(c.Out(), in)
	}
}

func (k mixNextGrad) Launch(c *graph.DeviceCall) {
	d := k.of.onDevice(c, c.Signature(2), c.Signature(4))
	as := func(i int) cuda.Array { return c.InAs(i, d.t) }
	dout, next, du := as(0), as(1), as(k.du)
	x := mixWriteInputs{k.projected(d, dout, next), as(2), as(3), c.InAs(4, cuda.F32), as(k.addends.h)}
	g := d.gradients(1, k.addends.c)
	dy := c.SecondaryAs(0, d.t)
	switch {
	case du.None():
		d.writeGrad(g, c.Out(), dy, x)
	case !d.nextSmall():
		sum := d.Scratch(d.t, dout.N)
		d.combine(sum, x.dout, d.N, false, d.down(x.coefficients, du))
		x.dout = sum
		d.writeGradTiled(g, c.Out(), dy, x, dotProducts{next, du, d.N, d.M, 0})
	default:
		grid := d.backwardGrid()
		d.sums(g, grid.X, false, func(dc cuda.Array) {
			d.Launch(d.name("mix_next_grad4"), grid, c.Out(), dy.Array, dc, x.dout, du, next, x.h, x.y, x.coefficients,
				x.addend, g.addend, cuda.Bool(dy.Accumulate), cuda.Bool(g.accumulate), d.sizes())
		})
	}
	dy.Deliver()
}

// projected returns the stream's gradient with what the projection adds to it, and computes the
// gradients of the projection's weights.
func (k mixNextGrad) projected(d *deviceMix, dout, next cuda.Array) cuda.Array {
	if k.dz < 0 {
		return dout
	}
	sum, w := d.Scratch(d.t, dout.N), k.dz+2
	k.of.linear.LaunchGrad(d.DeviceCall, norm.DeviceLinearGrad{DZ: d.InAs(k.dz, cuda.F32), Z: d.InAs(k.dz+1, cuda.F32), X: next, W: d.InAs(w, cuda.F32),
		Gain: d.InAs(k.gain, cuda.F32), DX: sum, AddendX: dout, DW: 2, DGain: 3}, k.of.linear.Sizes(d.Signature(2), d.Signature(w)))
	return sum
}
