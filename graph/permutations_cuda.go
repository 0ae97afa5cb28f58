//go:build cuda

package graph

import (
	"strconv"

	"github.com/residua-go/residua/graph/cuda"
)

func (k permutations) launch(c *deviceCall) error {
	if err := c.unify(); err != nil {
		return err
	}
	tokens := c.op.in[0].leading()
	return c.launch("permutations"+strconv.Itoa(k.n), perToken(tokens), c.out().Arg(),
		c.in(0).Arg(), c.in(1).Arg(), c.in(2).Arg(), cuda.Long(tokens))
}

func (k permutationsGrad) launch(c *deviceCall) error {
	if err := c.unify(); err != nil {
		return err
	}
	tokens, n := c.op.in[1].leading(), k.permutations.n
	err := c.launch("permutations_grad"+strconv.Itoa(n), perToken(tokens), c.out().Arg(),
		c.in(0).Arg(), c.in(1).Arg(), c.in(2).Arg(), c.in(3).Arg(), cuda.Long(tokens))
	if err != nil {
		return err
	}
	return c.finishGates(n)
}
