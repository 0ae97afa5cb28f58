package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k expertsHidden) Launch(c *graph.DeviceCall) error {
	u, w, err := c.Operands(0, 1)
	if err != nil {
		return err
	}
	bias, err := c.InAs(3, cuda.F32)
	if err != nil {
		return err
	}
	a, _, err := c.SecondaryOut(0)
	if err != nil {
		return err
	}
	d, shape := k.deviceDispatch(c, 2), c.Signature(1).Shape
	args := append([]cuda.Arg{c.Out().Arg(), a.Arg(), u.Arg(), w.Arg(), bias.Arg()}, d.args()...)
	return c.LaunchProduct("moe_hidden", d.grid(shape[2]),
		append(args, cuda.Int(shape[2]), cuda.Int(shape[1]), cuda.Bool(k.exact))...)
}

func (expertsActivated) Launch(*graph.DeviceCall) error { return nil }

func (k expertsGradU) Launch(c *graph.DeviceCall) error {
	dh, w, err := c.Operands(0, 1)
	if err != nil {
		return err
	}
	du, accumulate, err := c.SecondaryOut(0)
	if err != nil {
		return err
	}
	d, shape, rows := k.deviceDispatch(c, 2), c.Signature(1).Shape, c.Out()
	if err := d.product(c, "moe_rows_back", rows, dh, w, shape[1], shape[2]); err != nil || du.None() {
		return err
	}
	return d.combine(c, du, rows, cuda.Array{}, cuda.Array{}, accumulate)
}

// product multiplies sorted rows a, of k columns, with the experts' matrices into rows of
// n columns.
func (d deviceDispatch) product(c *graph.DeviceCall, name string, rows, a, w cuda.Array, n, k int) error {
	args := append([]cuda.Arg{rows.Arg(), a.Arg(), w.Arg()}, d.args()...)
	return c.LaunchProduct(name, d.grid(n), append(args, cuda.Int(n), cuda.Int(k))...)
}
