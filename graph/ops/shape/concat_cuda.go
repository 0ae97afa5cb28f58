package shape

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (concat) Launch(c *graph.DeviceCall) error {
	y, rows, from := c.Out(), c.Result().Leading(), 0
	for i := range c.Inputs() {
		s := c.Signature(i)
		x, err := c.InAs(i, y.Type)
		if err != nil {
			return err
		}
		if err := columns(c, y.Slice(from, y.N-from), c.Result().Width(), x, s.Width(), rows, s.Width()); err != nil {
			return err
		}
		from += s.Width()
	}
	return nil
}

// columns copies a matrix [rows, width] from x, whose rows are xStride elements apart, to
// y, whose rows are yStride apart.
func columns(c *graph.DeviceCall, y cuda.Array, yStride int, x cuda.Array, xStride, rows, width int) error {
	return c.Launch("columns"+y.Suffix(), cuda.QuadRows(rows, width),
		y.Arg(), cuda.Int(yStride), x.Arg(), cuda.Int(xStride), cuda.Int(rows), cuda.Int(width))
}
