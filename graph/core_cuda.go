//go:build cuda

package graph

import (
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
)

func (parameter) launch(*deviceCall) error { return nil }

func (keep) launch(*deviceCall) error { return nil }

func (unit) launch(c *deviceCall) error {
	return c.launch("fill_f32", cuda.Over(1, 32), c.out().Arg(), cuda.Float(1), cuda.Long(1))
}

func (reshape) launch(c *deviceCall) error { return c.copyTo(c.out(), c.in(0)) }

// launch multiplies by the factor, which may have come a long way as a gradient.
func (k secondaryOutput) launch(c *deviceCall) error {
	if !k.scaled {
		return nil
	}
	factor, err := c.inAs(1, cuda.F32)
	if err != nil {
		return err
	}
	y := c.out()
	return c.launch("scale_by"+y.Suffix(), cuda.Over(y.N, 256), y.Arg(), factor.Arg(), cuda.Long(y.N))
}

// launch takes the value down to the hook's function and what it leaves up again.
func (k hook) launch(c *deviceCall) error {
	if err := c.copyTo(c.out(), c.in(0)); err != nil || k.call == nil {
		return err
	}
	t := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(c.op.out.Shape...))
	if err := downloadTo(t, c.out(), c.dev); err != nil {
		return err
	}
	if err := k.call(k.name, t); err != nil {
		return err
	}
	changed, err := c.scratch(cuda.F32, c.out().N)
	if err != nil {
		return err
	}
	if err := c.dev.Upload(changed, dataOf(t)); err != nil {
		return err
	}
	return c.copyTo(c.out(), changed)
}
