//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (k slice) launch(c *deviceCall) error {
	y, result, width := c.out(), c.op.out, c.op.in[0].width()
	x, err := c.inAs(0, y.Type)
	if err != nil {
		return err
	}
	return c.columns(y, result.width(), x.Slice(k.from, x.N-k.from), width, result.leading(), result.width())
}

func (k sliceGrad) launch(c *deviceCall) error {
	if err := c.unify(); err != nil {
		return err
	}
	dx, rows, width := c.out(), k.x.leading(), k.x.width()
	return c.launch("slice_grad"+dx.Suffix(), cuda.QuadRows(rows, width),
		dx.Arg(), c.in(1).Arg(), c.in(0).Arg(), cuda.Int(rows), cuda.Int(width), cuda.Int(c.op.in[0].width()), cuda.Int(k.from))
}
