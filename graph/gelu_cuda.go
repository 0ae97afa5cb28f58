//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (k gelu) launch(c *deviceCall) error { return c.elementwise("gelu", cuda.Bool(k.exact)) }

func (k geluGrad) launch(c *deviceCall) error { return c.elementwise("gelu_grad", cuda.Bool(k.exact)) }
