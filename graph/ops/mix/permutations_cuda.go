package mix

import (
	"strconv"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k permutations) Launch(c *graph.DeviceCall) {
	c.Unify()
	tokens := c.Signature(0).Leading()
	c.Launch("permutations"+strconv.Itoa(k.n), perToken(tokens), c.Out(),
		c.In(0), c.In(1), c.In(2), cuda.Long(tokens))
}

func (k permutationsGrad) Launch(c *graph.DeviceCall) {
	c.Unify()
	tokens, n := c.Signature(1).Leading(), k.of.n
	c.Launch("permutations_grad"+strconv.Itoa(n), perToken(tokens), c.Out(),
		c.In(0), c.In(1), c.In(2), c.In(3), cuda.Long(tokens))
	finishGates(c, n)
}
