package elementwise

import (
	"github.com/residua-go/residua/graph"
)

func (sigmoid) Launch(c *graph.DeviceCall) { c.Elementwise("sigmoid_map") }

func (sigmoidGrad) Launch(c *graph.DeviceCall) { c.Elementwise("sigmoid_grad") }
