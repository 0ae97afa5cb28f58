package mix

import (
	"strconv"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k kronecker) Launch(c *graph.DeviceCall) {
	c.Unify()
	tokens := c.Signature(0).Leading()
	c.Launch("kronecker"+strconv.Itoa(k.n), perToken(tokens), c.Out(),
		c.In(0), c.In(1), c.In(2), cuda.Long(tokens))
}

func (k kroneckerGrad) Launch(c *graph.DeviceCall) {
	c.Unify()
	tokens, n := c.Signature(1).Leading(), k.of.n
	c.Launch("kronecker_grad"+strconv.Itoa(n), perToken(tokens), c.Out(),
		c.In(0), c.In(1), c.In(2), c.In(3), cuda.Long(tokens))
	finishGates(c, n)
}
