//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (k expertsGradW) Launch(c *DeviceCall) error {
	a, b, err := c.operands(0, 1)
	if err != nil {
		return err
	}
	gates, err := c.InAs(3, cuda.F32) // none for w1
	if err != nil {
		return err
	}
	dw, finish, err := c.floatOut()
	if err != nil {
		return err
	}
	d, m, n := k.deviceDispatch(c, 2), k.w.Shape[1], k.w.Shape[2]
	grid := cuda.Grid{X: tiles(m) * tiles(n), Y: k.number, Threads: 256}
	err = c.launchProduct("moe_weights", grid,
		dw.Arg(), a.Arg(), b.Arg(), gates.Arg(), d.order.Arg(), d.offsets.Arg(), cuda.Int(d.topK), cuda.Int(m), cuda.Int(n),
		cuda.Bool(!k.second), cuda.Bool(k.second), cuda.Bool(c.Accumulate()))
	if err != nil {
		return err
	}
	return finish()
}

func (k expertsGradBias) Launch(c *DeviceCall) error {
	x, err := c.InAs(0, c.Activation())
	if err != nil {
		return err
	}
	gates, err := c.InAs(2, cuda.F32) // none for b1
	if err != nil {
		return err
	}
	db, finish, err := c.floatOut()
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
