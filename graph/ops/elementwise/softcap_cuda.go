package elementwise

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch runs the op on a device.
func (k softCap) Launch(c *graph.DeviceCall) { c.Elementwise("softcap", cuda.Float(k.c)) }

func (k softCapGrad) Launch(c *graph.DeviceCall) {
	c.Elementwise("softcap_grad", cuda.Float(k.of.c))
}
