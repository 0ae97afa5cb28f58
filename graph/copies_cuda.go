//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (k copies) launch(c *deviceCall) error {
	return c.copies("copies", c.op.in[0].leading(), k.n, c.op.in[0].width())
}

func (sumCopies) launch(c *deviceCall) error {
	h := c.op.in[0]
	return c.copies("sum_copies", h.leading(), h.Shape[1], c.op.out.width())
}

// copies launches the kernel of either: the inputs are what it reads and, maybe, what its
// result is added to.
func (c *deviceCall) copies(kernel string, tokens, n, width int) error {
	if err := c.unify(); err != nil {
		return err
	}
	y := c.out()
	return c.launch(kernel+y.Suffix(), cuda.QuadRows(tokens, width),
		y.Arg(), c.in(0).Arg(), c.in(1).Arg(), cuda.Int(tokens), cuda.Int(n), cuda.Int(width))
}
