//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (k scale) launch(c *deviceCall) error { return c.elementwise("scale", cuda.Float(k.factor)) }
