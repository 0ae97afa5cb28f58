package shape

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k slice) Launch(c *graph.DeviceCall) error {
	y, result, width := c.Out(), c.Result(), c.Signature(0).Width()
	x, err := c.InAs(0, y.Type)
	if err != nil {
		return err
	}
	return columns(c, y, result.Width(), x.Slice(k.from, x.N-k.from), width, result.Leading(), result.Width())
}

func (k sliceGrad) Launch(c *graph.DeviceCall) error {
	if err := c.Unify(); err != nil {
		return err
	}
	dx, rows, width := c.Out(), k.x.Leading(), k.x.Width()
	return c.Launch("slice_grad"+dx.Suffix(), cuda.QuadRows(rows, width),
		dx.Arg(), c.In(1).Arg(), c.In(0).Arg(), cuda.Int(rows), cuda.Int(width), cuda.Int(c.Signature(0).Width()), cuda.Int(k.from))
}
