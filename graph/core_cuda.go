package graph

import (
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
)

func (parameter) Launch(*DeviceCall) {}

func (keepAlive) Launch(*DeviceCall) {}

func (lossGradient) Launch(c *DeviceCall) {
	c.Launch("fill_f32", cuda.Over(1, 32), c.Out(), cuda.Float(1), cuda.Long(1))
}

// Launch multiplies the secondary's output by its scalar factor.
func (k secondaryOutput) Launch(c *DeviceCall) {
	if !k.scaled {
		return
	}
	factor := c.InAs(1, cuda.F32)
	y := c.Out()
	c.Launch("scale_by"+y.Suffix(), cuda.Eights(y.N), y, factor, cuda.Long(y.N))
}

// Launch downloads the value, calls the hook's function with it, and uploads the result.
func (k hook) Launch(c *DeviceCall) {
	c.CopyTo(c.Out(), c.In(0))
	if k.call == nil {
		return
	}
	t := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(c.Result().Shape...))
	c.do(func() error { return downloadTo(t, c.Out(), c.dev) })
	c.do(func() error { return k.call(k.name, t) })
	changed := c.Scratch(cuda.F32, c.Out().N)
	c.upload(changed, dataOf(t))
	c.CopyTo(c.Out(), changed)
}
