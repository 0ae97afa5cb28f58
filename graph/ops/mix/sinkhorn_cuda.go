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

func (k sinkhorn) Launch(c *graph.DeviceCall) {
	c.Unify()
	tokens := c.Signature(0).Leading()
	ending, grid, _ := k.onDevice(tokens)
	c.Launch("sinkhorn"+ending, grid, c.Out(), c.In(0), c.In(1), c.In(2),
		cuda.Long(tokens), cuda.Ints(k.n, k.iterations))
}

func (k sinkhornGrad) Launch(c *graph.DeviceCall) {
	c.Unify()
	tokens, n, iterations := c.Signature(1).Leading(), k.of.n, k.of.iterations
	ending, grid, slots := sinkhorn{k.of}.onDevice(tokens)
	steps := c.Scratch(cuda.F32, 2*iterations*n*slots) // [2 iterations, n, slots]
	c.Launch("sinkhorn_grad"+ending, grid, c.Out(), steps, c.In(0), c.In(1), c.In(2), c.In(3),
		cuda.Long(tokens), cuda.Ints(n, iterations))
	finishGates(c, n)
}
