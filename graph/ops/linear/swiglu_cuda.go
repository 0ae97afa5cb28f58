package linear

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch makes the value by a product and y = silu(gate) ⊙ value in a pass over it.
func (k valueProduct) Launch(c *graph.DeviceCall) error {
	if err := k.Product.Launch(c); err != nil {
		return err
	}
	y, _, err := c.SecondaryOut(0)
	if err != nil || y.None() {
		return err
	}
	value := c.Out()
	gate, err := c.InAs(2, value.Type)
	if err != nil {
		return err
	}
	return c.Launch("swiglu"+value.Suffix(), cuda.Quads(value.N), y.Arg(), gate.Arg(), value.Arg(), cuda.Long(value.N))
}

// Launch does nothing: the value's own run has made y.
func (gatedValue) Launch(*graph.DeviceCall) error { return nil }

// Launch makes dy W^T by a product, and both gradients of it in a pass over that.
func (k linearGradSwiGLU) Launch(c *graph.DeviceCall) error {
	if err := k.of.productGradX(c, 0); err != nil {
		return err
	}
	dvalue := c.Out()
	dgate, err := c.SecondaryAs(0, dvalue.Type)
	if err != nil {
		return err
	}
	value, err := c.InAs(2, dvalue.Type)
	if err != nil {
		return err
	}
	gate, err := c.InAs(3, dvalue.Type)
	if err != nil {
		return err
	}
	err = c.Launch("swiglu_grad"+dvalue.Suffix(), cuda.Quads(dvalue.N),
		dgate.Array.Arg(), dvalue.Arg(), dvalue.Arg(), gate.Arg(), value.Arg(), cuda.Long(dvalue.N))
	if err != nil {
		return err
	}
	return dgate.Deliver()
}
