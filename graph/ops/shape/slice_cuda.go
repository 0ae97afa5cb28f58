package shape

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k slice) Launch(c *graph.DeviceCall) {
	y, result, width := c.Out(), c.Result(), c.Signature(0).Width()
	x := c.InAs(0, y.Type)
	columns(c, y, result.Width(), x.Slice(k.from, x.N-k.from), width, result.Leading(), result.Width())
}

func (k sliceGrad) Launch(c *graph.DeviceCall) {
	c.Unify()
	dx, rows, width := c.Out(), c.Result().Leading(), c.Result().Width()
	c.Launch("slice_grad"+dx.Suffix(), cuda.QuadRows(rows, width),
		dx, c.In(1), c.In(0), cuda.Ints(rows, width, c.Signature(0).Width(), k.from))
}
