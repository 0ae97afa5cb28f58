package optest

import (
	"github.com/residua-go/residua/graph"
)

func (asActivation) Launch(c *graph.DeviceCall) { c.CopyTo(c.Out(), c.In(0)) }

// Launch leaves the loss 0: only the gradient is used.
func (k weightedLoss) Launch(c *graph.DeviceCall) { c.Zero(c.Out()) }

func (k WeightedLossGrad) Launch(c *graph.DeviceCall) {
	var saved graph.DeviceMemory
	a := c.Constant(&saved, k.Weights)
	c.CopyTo(c.Out(), a)
}
