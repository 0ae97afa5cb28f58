package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k expertsOut) Launch(c *graph.DeviceCall) error {
	a, w, err := c.Operands(0, 1)
	if err != nil {
		return err
	}
	y, _, err := c.SecondaryOut(0)
	if err != nil {
		return err
	}
	d, shape, rows := k.deviceDispatch(c, 2), c.Signature(1).Shape, c.Out()
	if err := d.product(c, "moe_rows", rows, a, w, shape[2], shape[1]); err != nil || y.None() {
		return err
	}
	gates, err := c.InAs(3, cuda.F32)
	if err != nil {
		return err
	}
	bias, err := c.InAs(4, cuda.F32)
	if err != nil {
		return err
	}
	return d.combine(c, y, rows, bias, gates, false)
}

func (combined) Launch(*graph.DeviceCall) error { return nil }

func (k expertsGradHidden) Launch(c *graph.DeviceCall) error {
	dy, w, err := c.Operands(0, 1)
	if err != nil {
		return err
	}
	gates, err := c.InAs(3, cuda.F32)
	if err != nil {
		return err
	}
	a, h, err := k.activations(c)
	if err != nil {
		return err
	}
	d, shape := k.deviceDispatch(c, 2), c.Signature(1).Shape // w2 [E, FF, D]
	dgates, parts, err := k.gateParts(c, d, tiles(shape[1]))
	if err != nil {
		return err
	}
	args := append([]cuda.Arg{c.Out().Arg(), parts.Arg(), dy.Arg(), w.Arg(), a.Arg(), h.Arg(), gates.Arg()}, d.args()...)
	args = append(args, cuda.Int(d.rows), cuda.Int(shape[1]), cuda.Int(shape[2]), cuda.Bool(k.exact))
	if err := c.LaunchProduct("moe_hidden_back", d.grid(shape[1]), args...); err != nil || dgates.None() {
		return err
	}
	return k.gradGates(c, d, dgates, parts, dy)
}

// activations are a and, where the gradient goes through the GELU, h.
func (k expertsGradHidden) activations(c *graph.DeviceCall) (a, h cuda.Array, err error) {
	if a, err = c.InAs(4, c.Activation()); err != nil || !k.through {
		return a, h, err
	}
	h, err = c.InAs(len(c.Inputs())-1, c.Activation())
	return a, h, err
}

// gateParts is the gradient of the gates, none if it is not wanted, and its parts [tiles,
// rows], one a tile of columns.
func (k expertsGradHidden) gateParts(c *graph.DeviceCall, d deviceDispatch, tiles int) (dgates, parts cuda.Array, err error) {
	dgates, _, err = c.SecondaryOut(0)
	if err != nil || dgates.None() {
		return dgates, parts, err
	}
	parts, err = c.Scratch(cuda.F32, tiles*d.rows)
	return dgates, parts, err
}

func (k expertsGradHidden) gradGates(c *graph.DeviceCall, d deviceDispatch, dgates, parts, dy cuda.Array) (err error) {
	var bias cuda.Array
	if k.biased {
		if bias, err = c.InAs(5, cuda.F32); err != nil {
			return err
		}
	}
	return c.Launch("moe_gates_grad"+dy.Suffix(), warpEach(d.rows),
		dgates.Arg(), parts.Arg(), dy.Arg(), bias.Arg(), d.places.Arg(), d.choices.Arg(),
		cuda.Int(d.rows), cuda.Int(k.topK), cuda.Int(parts.N/d.rows), cuda.Int(c.Signature(0).Width()))
}
