package shape

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (concat) Launch(c *graph.DeviceCall) {
	y, rows, from := c.Out(), c.Result().Leading(), 0
	for i := range c.Inputs() {
		s := c.Signature(i)
		x := c.InAs(i, y.Type)
		columns(c, y.Slice(from, y.N-from), c.Result().Width(), x, s.Width(), rows, s.Width())
		from += s.Width()
	}
}

// columns copies a matrix [rows, width] from x, whose rows are xStride elements apart, to
// y, whose rows are yStride apart.
func columns(c *graph.DeviceCall, y cuda.Array, yStride int, x cuda.Array, xStride, rows, width int) {
	c.Launch("columns"+y.Suffix(), cuda.QuadRows(rows, width),
		y, cuda.Int(yStride), x, cuda.Ints(xStride, rows, width))
}
