package elementwise

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (swiGLU) Launch(c *graph.DeviceCall) error { return c.Elementwise("swiglu") }

func (swiGLUGrad) Launch(c *graph.DeviceCall) error {
	if err := c.Unify(); err != nil {
		return err
	}
	dgate := c.Out()
	dvalue, err := c.SecondaryAs(0, dgate.Type)
	if err != nil {
		return err
	}
	err = c.Launch("swiglu_grad"+dgate.Suffix(), cuda.Quads(dgate.N),
		dgate.Arg(), dvalue.Array.Arg(), c.In(0).Arg(), c.In(1).Arg(), c.In(2).Arg(), cuda.Long(dgate.N))
	if err != nil {
		return err
	}
	return dvalue.Deliver()
}

// Launch does nothing: the other factor's run has made it.
func (swiGLUFactorGrad) Launch(*graph.DeviceCall) error { return nil }
