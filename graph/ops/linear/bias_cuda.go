package linear

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (addBias) Launch(c *graph.DeviceCall) {
	y, rows, width := c.Out(), c.Signature(0).Leading(), c.Signature(0).Width()
	x := c.InAs(0, y.Type)
	bias := c.InAs(1, cuda.F32)
	c.Launch("add_bias"+y.Suffix(), cuda.QuadRows(rows, width),
		y, x, bias, cuda.Ints(rows, width))
}

func (sumTokens) Launch(c *graph.DeviceCall) {
	x := c.Signature(0)
	c.SumRows(c.Out(), c.In(0), x.Leading(), x.Width(), c.Accumulate())
}
