//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (concat) launch(c *deviceCall) error {
	y, rows, from := c.out(), c.op.out.leading(), 0
	for i, s := range c.op.in {
		x, err := c.inAs(i, y.Type)
		if err != nil {
			return err
		}
		if err := c.columns(y.Slice(from, y.N-from), c.op.out.width(), x, s.width(), rows, s.width()); err != nil {
			return err
		}
		from += s.width()
	}
	return nil
}

// columns copies a matrix [rows, width] from x, whose rows are xStride elements apart, to
// y, whose rows are yStride apart.
func (c *deviceCall) columns(y cuda.Array, yStride int, x cuda.Array, xStride, rows, width int) error {
	return c.launch("columns"+y.Suffix(), cuda.QuadRows(rows, width),
		y.Arg(), cuda.Int(yStride), x.Arg(), cuda.Int(xStride), cuda.Int(rows), cuda.Int(width))
}
