//go:build cuda

package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (gatedRead) Launch(c *graph.DeviceCall) error {
	u, p := c.Out(), gatedParams(c.Signature(0))
	in, err := c.InAll(u.Type, 0, 1)
	if err != nil {
		return err
	}
	return c.Launch("gated_read"+u.Suffix(), cuda.QuadRows(p.Tokens, p.D), u.Arg(), in[0].Arg(), in[1].Arg(),
		cuda.Int(p.N), cuda.Int(p.Tokens), cuda.Int(p.D))
}

func (gatedReadGrad) Launch(c *graph.DeviceCall) error {
	da, p := c.Out(), gatedParams(c.Signature(1))
	in, err := c.InAll(da.Type, 0, 1, 2)
	if err != nil {
		return err
	}
	dz, err := c.SecondaryAs(0, da.Type)
	if err != nil {
		return err
	}
	err = c.Launch("gated_read_grad"+da.Suffix(), cuda.QuadRows(p.Tokens*p.N, p.D), da.Arg(), dz.Array.Arg(), in[0].Arg(), in[1].Arg(), in[2].Arg(),
		cuda.Bool(dz.Accumulate), cuda.Int(p.N), cuda.Int(p.Tokens), cuda.Int(p.D))
	if err != nil {
		return err
	}
	return dz.Deliver()
}

func (k gatedHidden) Launch(c *graph.DeviceCall) error {
	h, p := c.Out(), k.params(c.Signature(0))
	x, err := c.InAs(0, h.Type)
	if err != nil {
		return err
	}
	return c.Launch("gated_hidden"+h.Suffix(), cuda.QuadRows(p.Tokens, k.rank), h.Arg(), x.Arg(),
		cuda.Int(k.n), cuda.Int(p.Tokens), cuda.Int(k.rank), cuda.Int(p.Width))
}

func (k gatedHiddenGrad) Launch(c *graph.DeviceCall) error {
	dx, p := c.Out(), k.of.params(c.Signature(1))
	in, err := c.InAll(dx.Type, 0, 1, 2)
	if err != nil {
		return err
	}
	return c.Launch("gated_hidden_grad"+dx.Suffix(), cuda.QuadRows(p.Tokens, p.Width), dx.Arg(), in[0].Arg(), in[1].Arg(), in[2].Arg(),
		cuda.Int(k.of.n), cuda.Int(p.Tokens), cuda.Int(k.of.rank), cuda.Int(p.Width))
}

func (gatedWrite) Launch(c *graph.DeviceCall) error {
	out, p := c.Out(), writeParams(c.Signature(0), c.Signature(2))
	in, err := c.InAll(out.Type, 0, 1, 2)
	if err != nil {
		return err
	}
	return c.Launch("gated_write"+out.Suffix(), cuda.QuadRows(p.Tokens*p.N, p.D), out.Arg(), in[0].Arg(), in[1].Arg(), in[2].Arg(),
		cuda.Int(p.N), cuda.Int(p.Tokens), cuda.Int(p.D), cuda.Int(p.Width))
}

func (gatedWriteGrad) Launch(c *graph.DeviceCall) error {
	dy, p := c.Out(), writeParams(c.Signature(0), c.Signature(2))
	in, err := c.InAll(dy.Type, 0, 1, 2)
	if err != nil {
		return err
	}
	dx, err := c.SecondaryAs(0, dy.Type)
	if err != nil {
		return err
	}
	err = c.Launch("gated_write_grad"+dy.Suffix(), cuda.Grid{X: cuda.CeilDiv(p.Tokens, 8), Threads: 256}, dy.Arg(), dx.Array.Arg(), in[0].Arg(), in[1].Arg(), in[2].Arg(),
		cuda.Bool(dx.Accumulate), cuda.Int(p.N), cuda.Int(p.Tokens), cuda.Int(p.D), cuda.Int(p.Width))
	if err != nil {
		return err
	}
	return dx.Deliver()
}
