package elementwise

import (
	"github.com/residua-go/residua/graph"
)

func (sigmoid) Launch(c *graph.DeviceCall) error { return c.Elementwise("sigmoid") }

func (sigmoidGrad) Launch(c *graph.DeviceCall) error { return c.Elementwise("sigmoid_grad") }
