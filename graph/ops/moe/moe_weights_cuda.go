package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k expertsGradW) Launch(c *graph.DeviceCall) {
	a, b := c.Operands()
	gates := c.InAs(3, cuda.F32) // the zero Array for w1
	dw, finish := floatOut(c)
	d, m, n := k.deviceDispatch(c, 2), c.Result().Shape[1], c.Result().Shape[2]
	grid := cuda.Grid{X: tiles(m) * tiles(n), Y: k.number, Threads: 256}
	c.LaunchProduct("moe_weights", grid,
		dw, a, b, gates, d.order, d.offsets, cuda.Ints(d.topK, m, n),
		cuda.Bool(!k.second), cuda.Bool(k.second), cuda.Bool(c.Accumulate()))
	finish()
}

func (k expertsGradBias) Launch(c *graph.DeviceCall) {
	x := c.InAs(0, c.Activation())
	gates := c.InAs(2, cuda.F32) // the zero Array for b1
	db, finish := floatOut(c)
	d, width := k.deviceDispatch(c, 1), c.Result().Shape[1]
	grid := cuda.Grid{X: (width + 31) / 32, Y: k.number, Threads: 256}
	c.Launch("moe_sums"+x.Suffix(), grid,
		db, x, gates, d.order, d.offsets, cuda.Ints(d.topK, width), cuda.Bool(c.Accumulate()))
	finish()
}
