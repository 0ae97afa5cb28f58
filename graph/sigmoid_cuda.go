//go:build cuda

package graph

func (sigmoid) Launch(c *DeviceCall) error { return c.Elementwise("sigmoid") }

func (sigmoidGrad) Launch(c *DeviceCall) error { return c.Elementwise("sigmoid_grad") }
