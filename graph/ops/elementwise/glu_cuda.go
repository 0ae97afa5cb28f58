package elementwise

import (
	"slices"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// maxAddends is the largest number of addends that the kernel takes; further ones are added after
// it.
const maxAddends = 3

func (glu) Launch(c *graph.DeviceCall) {
	c.Unify()
	y, rows, width := c.Out(), c.Result().Leading(), c.Result().Width()
	addends := slices.Clone(c.Inputs()[1:])
	slices.Reverse(addends)
	n := min(maxAddends, len(addends))
	var a [maxAddends]cuda.Array
	copy(a[:], addends[:n])
	c.Launch("glu"+y.Suffix(), cuda.QuadRows(rows, width),
		y, c.In(0), a[0], a[1], a[2], cuda.Ints(rows, width))
	c.Sum(y, addends[n:], true)
}

func (gluGrad) Launch(c *graph.DeviceCall) {
	c.Unify()
	dx, rows, width := c.Out(), c.Signature(0).Leading(), c.Signature(0).Width()
	c.Launch("glu_grad"+dx.Suffix(), cuda.QuadRows(rows, width),
		dx, c.In(0), c.In(1), cuda.Ints(rows, width))
}
