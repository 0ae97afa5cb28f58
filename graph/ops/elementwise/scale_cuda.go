package elementwise

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k scale) Launch(c *graph.DeviceCall) { c.Elementwise("scale", cuda.Float(k.factor)) }
