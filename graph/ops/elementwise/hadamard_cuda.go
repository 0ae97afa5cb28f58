package elementwise

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (hadamard) Launch(c *graph.DeviceCall) {
	y := c.Out()
	x := c.InAs(0, y.Type)
	gain := c.InAs(1, cuda.F32)
	rows, width := y.N/gain.N, gain.N
	c.Launch("hadamard"+y.Suffix(), cuda.QuadRows(rows, width), y, x, gain, cuda.Ints(rows, width))
}

func (addScaled) Launch(c *graph.DeviceCall) {
	y := c.Out()
	in := c.InAll(y.Type, 0, 1)
	gain := c.InAs(2, cuda.F32)
	rows, width := y.N/gain.N, gain.N
	c.Launch("add_scaled"+y.Suffix(), cuda.QuadRows(rows, width),
		y, in[0], in[1], gain, cuda.Ints(rows, width))
}

func (hadamardGrad) Launch(c *graph.DeviceCall) {
	dx := c.Out()
	in := c.InAll(dx.Type, 0, 1, 3)
	gain := c.InAs(2, cuda.F32)
	rows, width := dx.N/gain.N, gain.N
	groups := cuda.CeilDiv(width, 128)
	length := cuda.CeilDiv(rows, max(1, min(cuda.CeilDiv(512, groups), rows/32))) // number of rows of a slab
	slabs := cuda.CeilDiv(rows, length)
	dgain := c.SecondarySum(0, slabs)
	c.Launch("hadamard_grad"+dx.Suffix(), cuda.Grid{X: groups, Y: slabs, Threads: 256},
		dx, dgain.Partial, in[0], in[1], gain, in[2], cuda.Ints(rows, width, length))
	dgain.Finish(c, 1)
}
