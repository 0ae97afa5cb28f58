//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (k scale) Launch(c *DeviceCall) error { return c.Elementwise("scale", cuda.Float(k.factor)) }
