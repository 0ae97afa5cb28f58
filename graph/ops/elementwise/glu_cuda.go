package elementwise

import (
	"slices"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// maxAddends is the most addends that the kernel takes; others are added after it.
const maxAddends = 3

func (glu) Launch(c *graph.DeviceCall) error {
	if err := c.Unify(); err != nil {
		return err
	}
	y, rows, width := c.Out(), c.Result().Leading(), c.Result().Width()
	addends := slices.Clone(c.Inputs()[1:])
	slices.Reverse(addends)
	n := min(maxAddends, len(addends))
	var a [maxAddends]cuda.Array
	copy(a[:], addends[:n])
	err := c.Launch("glu"+y.Suffix(), cuda.QuadRows(rows, width),
		y.Arg(), c.In(0).Arg(), a[0].Arg(), a[1].Arg(), a[2].Arg(), cuda.Int(rows), cuda.Int(width))
	if err != nil {
		return err
	}
	return c.Sum(y, addends[n:], true)
}

func (gluGrad) Launch(c *graph.DeviceCall) error {
	if err := c.Unify(); err != nil {
		return err
	}
	dx, rows, width := c.Out(), c.Signature(0).Leading(), c.Signature(0).Width()
	return c.Launch("glu_grad"+dx.Suffix(), cuda.QuadRows(rows, width),
		dx.Arg(), c.In(0).Arg(), c.In(1).Arg(), cuda.Int(rows), cuda.Int(width))
}
