package linear

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (addBias) Launch(c *graph.DeviceCall) error {
	y, rows, width := c.Out(), c.Signature(0).Leading(), c.Signature(0).Width()
	x, err := c.InAs(0, y.Type)
	if err != nil {
		return err
	}
	bias, err := c.InAs(1, cuda.F32)
	if err != nil {
		return err
	}
	return c.Launch("add_bias"+y.Suffix(), cuda.QuadRows(rows, width),
		y.Arg(), x.Arg(), bias.Arg(), cuda.Int(rows), cuda.Int(width))
}

func (sumTokens) Launch(c *graph.DeviceCall) error {
	x := c.Signature(0)
	return c.SumRows(c.Out(), c.In(0), x.Leading(), x.Width(), c.Accumulate())
}
