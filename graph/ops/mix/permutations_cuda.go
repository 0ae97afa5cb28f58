package mix

import (
	"strconv"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k permutations) Launch(c *graph.DeviceCall) error {
	if err := c.Unify(); err != nil {
		return err
	}
	tokens := c.Signature(0).Leading()
	return c.Launch("permutations"+strconv.Itoa(k.n), perToken(tokens), c.Out().Arg(),
		c.In(0).Arg(), c.In(1).Arg(), c.In(2).Arg(), cuda.Long(tokens))
}

func (k permutationsGrad) Launch(c *graph.DeviceCall) error {
	if err := c.Unify(); err != nil {
		return err
	}
	tokens, n := c.Signature(1).Leading(), k.permutations.n
	err := c.Launch("permutations_grad"+strconv.Itoa(n), perToken(tokens), c.Out().Arg(),
		c.In(0).Arg(), c.In(1).Arg(), c.In(2).Arg(), c.In(3).Arg(), cuda.Long(tokens))
	if err != nil {
		return err
	}
	return finishGates(c, n)
}
