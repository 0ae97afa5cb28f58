//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (addBias) launch(c *deviceCall) error {
	y, rows, width := c.out(), c.op.in[0].leading(), c.op.in[0].width()
	x, err := c.inAs(0, y.Type)
	if err != nil {
		return err
	}
	bias, err := c.inAs(1, cuda.F32)
	if err != nil {
		return err
	}
	return c.launch("add_bias"+y.Suffix(), cuda.QuadRows(rows, width),
		y.Arg(), x.Arg(), bias.Arg(), cuda.Int(rows), cuda.Int(width))
}

func (sumTokens) launch(c *deviceCall) error {
	x := c.op.in[0]
	return c.sumRows(c.out(), c.in(0), x.leading(), x.width(), c.accumulate())
}
