//go:build cuda

package graph

func (sigmoid) launch(c *deviceCall) error { return c.elementwise("sigmoid") }

func (sigmoidGrad) launch(c *deviceCall) error { return c.elementwise("sigmoid_grad") }
