package shape

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k copies) Launch(c *graph.DeviceCall) {
	launchCopies(c, "copies", c.Signature(0).Leading(), k.n, c.Signature(0).Width())
}

func (sumCopies) Launch(c *graph.DeviceCall) {
	h := c.Signature(0)
	launchCopies(c, "sum_copies", h.Leading(), h.Shape[1], c.Result().Width())
}

// launchCopies launches the kernel of copies or of sumCopies on the op's inputs.
func launchCopies(c *graph.DeviceCall, kernel string, tokens, n, width int) {
	c.Unify()
	y := c.Out()
	c.Launch(kernel+y.Suffix(), cuda.QuadRows(tokens, width),
		y, c.In(0), c.In(1), cuda.Ints(tokens, n, width))
}
