//go:build cuda

package graph

import (
	"slices"

	"github.com/residua-go/residua/graph/cuda"
)

// maxAddends is the most addends that the kernel takes; others are added after it.
const maxAddends = 3

func (glu) launch(c *deviceCall) error {
	if err := c.unify(); err != nil {
		return err
	}
	y, rows, width := c.out(), c.op.out.leading(), c.op.out.width()
	addends := slices.Clone(c.args[1:])
	slices.Reverse(addends)
	n := min(maxAddends, len(addends))
	var a [maxAddends]cuda.Array
	copy(a[:], addends[:n])
	err := c.launch("glu"+y.Suffix(), cuda.QuadRows(rows, width),
		y.Arg(), c.in(0).Arg(), a[0].Arg(), a[1].Arg(), a[2].Arg(), cuda.Int(rows), cuda.Int(width))
	if err != nil {
		return err
	}
	return c.sum(y, addends[n:], true)
}

func (gluGrad) launch(c *deviceCall) error {
	if err := c.unify(); err != nil {
		return err
	}
	dx, rows, width := c.out(), c.op.in[0].leading(), c.op.in[0].width()
	return c.launch("glu_grad"+dx.Suffix(), cuda.QuadRows(rows, width),
		dx.Arg(), c.in(0).Arg(), c.in(1).Arg(), cuda.Int(rows), cuda.Int(width))
}
