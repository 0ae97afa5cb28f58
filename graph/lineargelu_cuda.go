//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

// launch makes h by a product and y = gelu(h) in a pass over it.
func (k linearGelu) launch(c *deviceCall) error {
	if err := k.linear.launch(c); err != nil {
		return err
	}
	y, _, err := c.secondaryOut(0)
	if err != nil || y.None() {
		return err
	}
	h := c.out()
	return c.launch("gelu"+h.Suffix(), cuda.Quads(h.N), y.Arg(), h.Arg(), cuda.Bool(k.exact), cuda.Long(h.N))
}

// launch does nothing: h's own run has made y.
func (k activated) launch(*deviceCall) error { return nil }

// launch makes dy W^T by a product and multiplies it by gelu'(h) where it lies.
func (k linearGradGelu) launch(c *deviceCall) error {
	if err := k.linear.productGradX(c, k.h.leading()); err != nil {
		return err
	}
	dh := c.out()
	h, err := c.inAs(2, dh.Type)
	if err != nil {
		return err
	}
	return c.launch("gelu_grad"+dh.Suffix(), cuda.Quads(dh.N), dh.Arg(), dh.Arg(), h.Arg(), cuda.Bool(k.exact), cuda.Long(dh.N))
}
