//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

// wideBlocks is the most blocks of Sinkhorn's kernels for more than eight streams, which
// take a token at a time.
const wideBlocks = 1024

// onDevice is the ending of the kernels' names for n streams, their grid, and how many
// tokens they treat at once.
func (k sinkhorn) onDevice(tokens int) (ending string, grid cuda.Grid, slots int) {
	switch {
	case k.n <= 4:
		return "4", perToken(tokens), tokens
	case k.n <= 8:
		return "8", perToken(tokens), tokens
	}
	slots = min(tokens, wideBlocks)
	return "_wide", cuda.Grid{X: slots, Threads: 64}, slots
}

func (k sinkhorn) launch(c *deviceCall) error {
	if err := c.unify(); err != nil {
		return err
	}
	tokens := c.op.in[0].leading()
	ending, grid, _ := k.onDevice(tokens)
	return c.launch("sinkhorn"+ending, grid, c.out().Arg(), c.in(0).Arg(), c.in(1).Arg(), c.in(2).Arg(),
		cuda.Long(tokens), cuda.Int(k.n), cuda.Int(k.iterations))
}

func (k sinkhornGrad) launch(c *deviceCall) error {
	if err := c.unify(); err != nil {
		return err
	}
	tokens, n, iterations := c.op.in[1].leading(), k.sinkhorn.n, k.sinkhorn.iterations
	ending, grid, slots := k.sinkhorn.onDevice(tokens)
	steps, err := c.scratch(cuda.F32, 2*iterations*n*slots) // [2 iterations, n, slots]
	if err != nil {
		return err
	}
	err = c.launch("sinkhorn_grad"+ending, grid, c.out().Arg(), steps.Arg(), c.in(0).Arg(), c.in(1).Arg(), c.in(2).Arg(), c.in(3).Arg(),
		cuda.Long(tokens), cuda.Int(n), cuda.Int(iterations))
	if err != nil {
		return err
	}
	return c.finishGates(n)
}
