//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (k gelu) Launch(c *DeviceCall) error { return c.Elementwise("gelu", cuda.Bool(k.exact)) }

func (k geluGrad) Launch(c *DeviceCall) error {
	return c.Elementwise("gelu_grad", cuda.Bool(k.of.exact))
}
