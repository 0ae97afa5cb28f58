package linear

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// Launch computes h and y = f(h) in one product if the device can, else in a product and a pass
// over its result.
func (k linearActivated) Launch(c *graph.DeviceCall) {
	h, product := c.Out(), k.Product.product(c)
	y, _ := c.SecondaryOut(0)
	if y.None() {
		c.Gemm(product)
		return
	}
	if k.activation.Function == kernel.GeluTanh && y.Type == h.Type {
		fused := product
		fused.C = y
		if c.GemmWith(fused, cuda.GELU, h) {
			return
		}
	}
	c.Gemm(product)
	c.Launch("activation"+h.Suffix(), cuda.Eights(h.N), y, h, cuda.Int(int(k.activation.Function)), cuda.Long(h.N))
}

// Launch does nothing: h's own run has made y.
func (k activated) Launch(*graph.DeviceCall) {}

// Launch computes dy W^T f'(h) in one product if the device can, else in a product and a pass that
// multiplies it by f'(h) in place.
func (k linearGradActivated) Launch(c *graph.DeviceCall) {
	dh, product := c.Out(), k.of.productGradX(c)
	h := c.InAs(2, dh.Type)
	if k.activation.Function == kernel.GeluTanh && c.GemmWith(product, cuda.DGELU, h) {
		return
	}
	c.Gemm(product)
	c.Launch("activation_grad"+dh.Suffix(), cuda.Eights(dh.N), dh, dh, h, cuda.Int(int(k.activation.Function)), cuda.Long(dh.N))
}
