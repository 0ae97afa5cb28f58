package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k expertsGradW) Launch(c *graph.DeviceCall) error {
	a, b, err := c.Operands(0, 1)
	if err != nil {
		return err
	}
	gates, err := c.InAs(3, cuda.F32) // none for w1
	if err != nil {
		return err
	}
	dw, finish, err := floatOut(c)
	if err != nil {
		return err
	}
	d, m, n := k.deviceDispatch(c, 2), k.w.Shape[1], k.w.Shape[2]
	grid := cuda.Grid{X: tiles(m) * tiles(n), Y: k.number, Threads: 256}
	err = c.LaunchProduct("moe_weights", grid,
		dw.Arg(), a.Arg(), b.Arg(), gates.Arg(), d.order.Arg(), d.offsets.Arg(), cuda.Int(d.topK), cuda.Int(m), cuda.Int(n),
		cuda.Bool(!k.second), cuda.Bool(k.second), cuda.Bool(c.Accumulate()))
	if err != nil {
		return err
	}
	return finish()
}

func (k expertsGradBias) Launch(c *graph.DeviceCall) error {
	x, err := c.InAs(0, c.Activation())
	if err != nil {
		return err
	}
	gates, err := c.InAs(2, cuda.F32) // none for b1
	if err != nil {
		return err
	}
	db, finish, err := floatOut(c)
	if err != nil {
		return err
	}
	d, width := k.deviceDispatch(c, 1), k.bias.Shape[1]
	grid := cuda.Grid{X: (width + 31) / 32, Y: k.number, Threads: 256}
	err = c.Launch("moe_sums"+x.Suffix(), grid,
		db.Arg(), x.Arg(), gates.Arg(), d.order.Arg(), d.offsets.Arg(), cuda.Int(d.topK), cuda.Int(width), cuda.Bool(c.Accumulate()))
	if err != nil {
		return err
	}
	return finish()
}
