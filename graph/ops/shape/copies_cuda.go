package shape

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k copies) Launch(c *graph.DeviceCall) error {
	return launchCopies(c, "copies", c.Signature(0).Leading(), k.n, c.Signature(0).Width())
}

func (sumCopies) Launch(c *graph.DeviceCall) error {
	h := c.Signature(0)
	return launchCopies(c, "sum_copies", h.Leading(), h.Shape[1], c.Result().Width())
}

// copies launches the kernel of either: the inputs are what it reads and, maybe, what its
// result is added to.
func launchCopies(c *graph.DeviceCall, kernel string, tokens, n, width int) error {
	if err := c.Unify(); err != nil {
		return err
	}
	y := c.Out()
	return c.Launch(kernel+y.Suffix(), cuda.QuadRows(tokens, width),
		y.Arg(), c.In(0).Arg(), c.In(1).Arg(), cuda.Int(tokens), cuda.Int(n), cuda.Int(width))
}
