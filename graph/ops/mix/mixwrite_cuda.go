package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k mixWrite) Launch(c *graph.DeviceCall) error {
	d := k.onDevice(c, c.Signature(0), c.Signature(2))
	in, err := d.inputs(2)
	if err != nil {
		return err
	}
	out, h, y, coefficients := c.Out(), in[0], in[1], in[2]
	if d.small() == "" {
		return d.combine(out, cuda.Array{}, d.N, false, d.carry(coefficients, h).transposed(), d.up(coefficients, y))
	}
	return c.Launch(d.name("mix_write"+d.small()), d.forwardGrid(), d.sizes(out.Arg(), h.Arg(), y.Arg(), coefficients.Arg())...)
}

// mixWriteInputs are what both forms of mixWriteGrad read.
type mixWriteInputs struct{ dout, h, y, coefficients, addend cuda.Array }

func (k mixWriteGrad) Launch(c *graph.DeviceCall) error {
	d := k.of.onDevice(c, c.Signature(0), c.Signature(3))
	in, err := d.inputs(3)
	if err != nil {
		return err
	}
	x := mixWriteInputs{in[0], in[1], in[2], in[3], optionalArray(in, k.addends.h)}
	g, err := d.gradients(1, k.addends.c)
	if err != nil {
		return err
	}
	dy, err := c.SecondaryAs(0, d.t)
	if err != nil {
		return err
	}
	if err := d.writeGrad(g, c.Out(), dy, x); err != nil {
		return err
	}
	return dy.Deliver()
}

func (d *deviceMix) writeGrad(g mixGradients, dh cuda.Array, dy graph.SecondaryResult, x mixWriteInputs) error {
	if d.small() == "" {
		return d.writeGradTiled(g, dh, dy, x)
	}
	grid := d.backwardGrid()
	return d.sums(g, grid.X, false, func(dc cuda.Array) error {
		return d.Launch(d.name("mix_write_grad"+d.small()), grid, d.sizes(dh.Arg(), dy.Array.Arg(), dc.Arg(), x.dout.Arg(),
			x.h.Arg(), x.y.Arg(), x.coefficients.Arg(), x.addend.Arg(), g.addend.Arg(), cuda.Bool(dy.Accumulate), cuda.Bool(g.accumulate))...)
	})
}

// writeGradTiled is mixWriteGrad of a stream of any sizes. dh, which may be dout, comes last.
func (d *deviceMix) writeGradTiled(g mixGradients, dh cuda.Array, dy graph.SecondaryResult, x mixWriteInputs) error {
	err := d.dots(g, dotProducts{x.h, x.dout, d.N, d.N, d.M}, dotProducts{x.dout, x.y, d.N, d.M, d.M + d.N})
	if err != nil {
		return err
	}
	if !dy.Array.None() {
		if err := d.combine(dy.Array, cuda.Array{}, d.M, dy.Accumulate, d.up(x.coefficients, x.dout).transposed()); err != nil {
			return err
		}
	}
	return d.combine(dh, x.addend, d.N, false, d.carry(x.coefficients, x.dout))
}
