package linear

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch makes h by a product and y = f(h) in a pass over it.
func (k linearActivated) Launch(c *graph.DeviceCall) {
	k.Product.Launch(c)
	y, _ := c.SecondaryOut(0)
	if h := c.Out(); !y.None() {
		c.Launch("activation"+h.Suffix(), cuda.Quads(h.N), y, h, cuda.Int(int(k.Function)), cuda.Long(h.N))
	}
}

// Launch does nothing: h's own run has made y.
func (k activated) Launch(*graph.DeviceCall) {}

// Launch makes dy W^T by a product and multiplies it by f'(h) where it lies.
func (k linearGradActivated) Launch(c *graph.DeviceCall) {
	k.of.productGradX(c, 0)
	dh := c.Out()
	h := c.InAs(2, dh.Type)
	c.Launch("activation_grad"+dh.Suffix(), cuda.Quads(dh.N), dh, dh, h, cuda.Int(int(k.activation.Function)), cuda.Long(dh.N))
}
