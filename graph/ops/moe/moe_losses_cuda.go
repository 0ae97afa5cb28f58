package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// lossBlocks is the largest number of blocks that share a router's loss.
const lossBlocks = 512

func (k routerLoss) Launch(c *graph.DeviceCall) {
	logits := c.InAs(0, cuda.F32)
	tokens, experts := c.Signature(0).Leading(), c.Signature(0).Width()
	grid := warpEach(tokens)
	grid.X = min(grid.X, lossBlocks)
	sums := c.Scratch(cuda.F32, grid.X)
	c.Launch("moe_loss_terms", grid,
		sums, logits, k.offsets(c, 1, experts), cuda.Ints(tokens, experts))
	c.Launch("moe_loss", cuda.Grid{X: 1, Threads: 256},
		c.Out(), sums, cuda.Int(grid.X), cuda.Float(k.factor(tokens, experts)))
}

// offsets returns the offsets of the dispatch, input i; the zero Array for the z-loss.
func (k routerLoss) offsets(c *graph.DeviceCall, i, experts int) cuda.Array {
	if !k.balance {
		return cuda.Array{}
	}
	return newDeviceDispatch(c.In(i), k.topK, experts).offsets
}

// factor returns the factor of the sum over the tokens. The kernel for the balance counts an
// expert's rows, where the equation has their share of all rows.
func (k routerLoss) factor(tokens, experts int) float64 {
	if k.balance {
		return float64(experts) / float64(tokens) / float64(k.topK*tokens)
	}
	return 1 / float64(tokens)
}

func (k routerLossGrad) Launch(c *graph.DeviceCall) {
	dloss := c.InAs(0, cuda.F32)
	logits := c.InAs(1, cuda.F32)
	tokens, experts := c.Result().Leading(), c.Result().Width()
	factor := k.of.factor(tokens, experts)
	if !k.of.balance {
		factor *= 2 // from the derivative of the square
	}
	c.Launch("moe_loss_grad", warpEach(tokens), c.Out(), dloss, logits,
		k.of.offsets(c, 2, experts), cuda.Ints(tokens, experts), cuda.Float(factor))
}
