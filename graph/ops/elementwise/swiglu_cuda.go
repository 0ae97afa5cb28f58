package elementwise

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (swiGLU) Launch(c *graph.DeviceCall) { c.Elementwise("swiglu") }

func (swiGLUGrad) Launch(c *graph.DeviceCall) {
	c.Unify()
	dgate := c.Out()
	dvalue := c.SecondaryAs(0, dgate.Type)
	c.Launch("swiglu_grad"+dgate.Suffix(), cuda.Eights(dgate.N),
		dgate, dvalue.Array, c.In(0), c.In(1), c.In(2), cuda.Long(dgate.N))
	dvalue.Deliver()
}
