package graph

import (
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
)

func (parameter) Launch(*DeviceCall) error { return nil }

func (keepAlive) Launch(*DeviceCall) error { return nil }

func (lossGradient) Launch(c *DeviceCall) error {
	return c.Launch("fill_f32", cuda.Over(1, 32), c.Out().Arg(), cuda.Float(1), cuda.Long(1))
}

// Launch multiplies by the factor, which may have come a long way as a gradient.
func (k secondaryOutput) Launch(c *DeviceCall) error {
	if !k.scaled {
		return nil
	}
	factor, err := c.InAs(1, cuda.F32)
	if err != nil {
		return err
	}
	y := c.Out()
	return c.Launch("scale_by"+y.Suffix(), cuda.Over(y.N, 256), y.Arg(), factor.Arg(), cuda.Long(y.N))
}

// Launch takes the value down to the hook's function and what it leaves up again.
func (k hook) Launch(c *DeviceCall) error {
	if err := c.CopyTo(c.Out(), c.In(0)); err != nil || k.call == nil {
		return err
	}
	t := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(c.Result().Shape...))
	if err := downloadTo(t, c.Out(), c.Device()); err != nil {
		return err
	}
	if err := k.call(k.name, t); err != nil {
		return err
	}
	changed, err := c.Scratch(cuda.F32, c.Out().N)
	if err != nil {
		return err
	}
	if err := c.Device().Upload(changed, dataOf(t)); err != nil {
		return err
	}
	return c.CopyTo(c.Out(), changed)
}
