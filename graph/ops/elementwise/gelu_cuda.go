//go:build cuda

package elementwise

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch computes it on a device.
func (k GELU) Launch(c *graph.DeviceCall) error { return c.Elementwise("gelu", cuda.Bool(k.Exact)) }

func (k geluGrad) Launch(c *graph.DeviceCall) error {
	return c.Elementwise("gelu_grad", cuda.Bool(k.of.Exact))
}
