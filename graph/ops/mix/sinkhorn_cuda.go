package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

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

func (k sinkhorn) Launch(c *graph.DeviceCall) error {
	if err := c.Unify(); err != nil {
		return err
	}
	tokens := c.Signature(0).Leading()
	ending, grid, _ := k.onDevice(tokens)
	return c.Launch("sinkhorn"+ending, grid, c.Out().Arg(), c.In(0).Arg(), c.In(1).Arg(), c.In(2).Arg(),
		cuda.Long(tokens), cuda.Int(k.n), cuda.Int(k.iterations))
}

func (k sinkhornGrad) Launch(c *graph.DeviceCall) error {
	if err := c.Unify(); err != nil {
		return err
	}
	tokens, n, iterations := c.Signature(1).Leading(), k.sinkhorn.n, k.sinkhorn.iterations
	ending, grid, slots := k.sinkhorn.onDevice(tokens)
	steps, err := c.Scratch(cuda.F32, 2*iterations*n*slots) // [2 iterations, n, slots]
	if err != nil {
		return err
	}
	err = c.Launch("sinkhorn_grad"+ending, grid, c.Out().Arg(), steps.Arg(), c.In(0).Arg(), c.In(1).Arg(), c.In(2).Arg(), c.In(3).Arg(),
		cuda.Long(tokens), cuda.Int(n), cuda.Int(iterations))
	if err != nil {
		return err
	}
	return finishGates(c, n)
}
