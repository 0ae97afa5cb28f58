package linear

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch computes the value by a product, and y = silu(gate) ⊙ value in a pass over it.
func (k valueProduct) Launch(c *graph.DeviceCall) {
	k.Product.Launch(c)
	y, _ := c.SecondaryOut(0)
	if value := c.Out(); !y.None() {
		gate := c.InAs(2, value.Type)
		c.Launch("formula_swiglu"+value.Suffix(), cuda.Eights(value.N), y, gate, value, cuda.Long(value.N))
	}
}

// Launch computes dy W^T by a product, and both gradients in a pass over it.
func (k linearGradSwiGLU) Launch(c *graph.DeviceCall) {
	c.Gemm(k.of.productGradX(c))
	dvalue := c.Out()
	dgate := c.SecondaryAs(0, dvalue.Type)
	value := c.InAs(2, dvalue.Type)
	gate := c.InAs(3, dvalue.Type)
	c.Launch("formula_swiglu_grad"+dvalue.Suffix(), cuda.Eights(dvalue.N),
		dgate.Array, dvalue, dvalue, gate, value, cuda.Long(dvalue.N))
	dgate.Deliver()
}
