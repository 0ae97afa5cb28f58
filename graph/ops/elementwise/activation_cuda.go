package elementwise

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch runs the op on a device.
func (k Activation) Launch(c *graph.DeviceCall) {
	c.Elementwise("activation", cuda.Int(int(k.Function)))
}

func (k activationGrad) Launch(c *graph.DeviceCall) {
	c.Elementwise("activation_grad", cuda.Int(int(k.of.Function)))
}
