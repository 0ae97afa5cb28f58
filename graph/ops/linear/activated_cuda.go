package linear

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch makes h by a product and y = f(h) in a pass over it.
func (k linearActivated) Launch(c *graph.DeviceCall) error {
	if err := k.Product.Launch(c); err != nil {
		return err
	}
	y, _, err := c.SecondaryOut(0)
	if err != nil || y.None() {
		return err
	}
	h := c.Out()
	return c.Launch("activation"+h.Suffix(), cuda.Quads(h.N), y.Arg(), h.Arg(), cuda.Int(int(k.Function)), cuda.Long(h.N))
}

// Launch does nothing: h's own run has made y.
func (k activated) Launch(*graph.DeviceCall) error { return nil }

// Launch makes dy W^T by a product and multiplies it by f'(h) where it lies.
func (k linearGradActivated) Launch(c *graph.DeviceCall) error {
	if err := k.of.productGradX(c, 0); err != nil {
		return err
	}
	dh := c.Out()
	h, err := c.InAs(2, dh.Type)
	if err != nil {
		return err
	}
	return c.Launch("activation_grad"+dh.Suffix(), cuda.Quads(dh.N), dh.Arg(), dh.Arg(), h.Arg(), cuda.Int(int(k.activation.Function)), cuda.Long(dh.N))
}
