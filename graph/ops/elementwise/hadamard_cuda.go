package elementwise

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (hadamard) Launch(c *graph.DeviceCall) error {
	y := c.Out()
	x, err := c.InAs(0, y.Type)
	if err != nil {
		return err
	}
	gain, err := c.InAs(1, cuda.F32)
	if err != nil {
		return err
	}
	rows, width := y.N/gain.N, gain.N
	return c.Launch("hadamard"+y.Suffix(), cuda.QuadRows(rows, width), y.Arg(), x.Arg(), gain.Arg(), cuda.Int(rows), cuda.Int(width))
}

func (addScaled) Launch(c *graph.DeviceCall) error {
	y := c.Out()
	in, err := c.InAll(y.Type, 0, 1)
	if err != nil {
		return err
	}
	gain, err := c.InAs(2, cuda.F32)
	if err != nil {
		return err
	}
	rows, width := y.N/gain.N, gain.N
	return c.Launch("add_scaled"+y.Suffix(), cuda.QuadRows(rows, width),
		y.Arg(), in[0].Arg(), in[1].Arg(), gain.Arg(), cuda.Int(rows), cuda.Int(width))
}

func (hadamardGrad) Launch(c *graph.DeviceCall) error {
	dx := c.Out()
	in, err := c.InAll(dx.Type, 0, 1, 3)
	if err != nil {
		return err
	}
	gain, err := c.InAs(2, cuda.F32)
	if err != nil {
		return err
	}
	rows, width := dx.N/gain.N, gain.N
	groups := cuda.CeilDiv(width, 128)
	length := cuda.CeilDiv(rows, max(1, min(cuda.CeilDiv(512, groups), rows/32))) // rows of a slab
	slabs := cuda.CeilDiv(rows, length)
	dgain, err := c.SecondarySum(0, slabs)
	if err != nil {
		return err
	}
	err = c.Launch("hadamard_grad"+dx.Suffix(), cuda.Grid{X: groups, Y: slabs, Threads: 256},
		dx.Arg(), dgain.Partial.Arg(), in[0].Arg(), in[1].Arg(), gain.Arg(), in[2].Arg(), cuda.Int(rows), cuda.Int(width), cuda.Int(length))
	if err != nil {
		return err
	}
	return dgain.Finish(c, 1)
}
