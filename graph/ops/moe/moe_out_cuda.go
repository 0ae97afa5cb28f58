package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k expertsOut) Launch(c *graph.DeviceCall) {
	a, w := c.Operands()
	y, _ := c.SecondaryOut(0)
	d, shape, rows := k.deviceDispatch(c, 2), c.Signature(1).Shape, c.Out()
	d.product(c, "moe_rows", rows, a, w, shape[2], shape[1])
	if !y.None() {
		gates, bias := c.InAs(3, cuda.F32), c.InAs(4, cuda.F32)
		d.combine(c, y, rows, bias, gates, false)
	}
}

func (k expertsGradHidden) Launch(c *graph.DeviceCall) {
	dy, w := c.Operands()
	gates := c.InAs(3, cuda.F32)
	a := c.InAs(4, c.Activation())
	var h cuda.Array // set if the gradient passes through the GELU
	if k.through {
		h = c.InAs(len(c.Inputs())-1, c.Activation())
	}
	d, shape := k.deviceDispatch(c, 2), c.Signature(1).Shape // w2 [E, FF, D]
	dgates, _ := c.SecondaryOut(0)
	var parts cuda.Array // partial sums of dgates, [tiles, rows], one for each tile of columns
	if !dgates.None() {
		parts = c.Scratch(cuda.F32, tiles(shape[1])*d.rows)
	}
	c.LaunchProduct("moe_hidden_back", d.grid(shape[1]), c.Out(), parts, dy, w, a, h, gates, d.args(),
		cuda.Ints(d.rows, shape[1], shape[2]), cuda.Bool(k.exact))
	if !dgates.None() {
		k.gradGates(c, d, dgates, parts, dy)
	}
}

func (k expertsGradHidden) gradGates(c *graph.DeviceCall, d deviceDispatch, dgates, parts, dy cuda.Array) {
	var bias cuda.Array
	if k.biased {
		bias = c.InAs(5, cuda.F32)
	}
	c.Launch("moe_gates_grad"+dy.Suffix(), warpEach(d.rows),
		dgates, parts, dy, bias, d.places, d.choices,
		cuda.Ints(d.rows, k.topK, parts.N/d.rows, c.Signature(0).Width()))
}
