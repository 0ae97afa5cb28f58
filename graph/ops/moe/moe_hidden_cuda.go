package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k expertsHidden) Launch(c *graph.DeviceCall) {
	u, w := c.Operands()
	bias := c.InAs(3, cuda.F32)
	a, _ := c.SecondaryOut(0)
	d, shape := k.deviceDispatch(c, 2), c.Signature(1).Shape
	c.LaunchProduct("moe_hidden", d.grid(shape[2]),
		c.Out(), a, u, w, bias, d.args(), cuda.Ints(shape[2], shape[1]), cuda.Bool(k.exact))
}

func (expertsActivated) Launch(*graph.DeviceCall) {}

func (k expertsGradU) Launch(c *graph.DeviceCall) {
	dh, w := c.Operands()
	du, accumulate := c.SecondaryOut(0)
	d, shape, rows := k.deviceDispatch(c, 2), c.Signature(1).Shape, c.Out()
	d.product(c, "moe_rows_back", rows, dh, w, shape[1], shape[2])
	if !du.None() {
		d.combine(c, du, rows, cuda.Array{}, cuda.Array{}, accumulate)
	}
}

// product multiplies sorted rows a, with k columns, by the experts' matrices, giving rows of n
// columns.
func (d deviceDispatch) product(c *graph.DeviceCall, name string, rows, a, w cuda.Array, n, k int) {
	c.LaunchProduct(name, d.grid(n), rows, a, w, d.args(), cuda.Ints(n, k))
}
