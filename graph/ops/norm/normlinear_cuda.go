package norm

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// The tiles of cuda/normlinear.cuh: rows, entries of a row and columns of w, and the rows
// that a block makes dx of.
const (
	normLinearRows     = 32
	normLinearSlice    = 128
	normLinearColumns  = 32
	normLinearGradRows = 4 * normLinearRows
)

// normLinearSaved is what the forward pass leaves on a device.
type normLinearSaved struct{ mean, rstd, sums cuda.Array }

func (s *normLinearStats) onDevice(c *graph.DeviceCall, p kernel.NormLinearParams) (saved normLinearSaved, err error) {
	all, err := c.Saved(&s.device, cuda.F32, 3*p.Rows+p.K)
	return normLinearSaved{all.Slice(0, 2*p.Rows), all.Slice(2*p.Rows, p.Rows), all.Slice(3*p.Rows, p.K)}, err
}

func (k normLinear) Launch(c *graph.DeviceCall) error {
	p := k.params(c.Signature(0), c.Signature(1))
	saved, err := k.saved.onDevice(c, p)
	if err != nil {
		return err
	}
	w, err := c.InAs(1, cuda.F32)
	if err != nil {
		return err
	}
	gain, err := c.InAs(2, cuda.F32)
	if err != nil {
		return err
	}
	x := c.In(0)
	grid := cuda.Grid{X: cuda.CeilDiv(p.Rows, normLinearRows), Y: cuda.CeilDiv(p.K, normLinearColumns), Threads: 256}
	return c.Launch("norm_linear"+x.Suffix(), grid,
		c.Out().Arg(), saved.mean.Arg(), saved.rstd.Arg(), saved.sums.Arg(), x.Arg(), gain.Arg(), w.Arg(),
		cuda.Long(p.Rows), cuda.Int(p.Width), cuda.Int(p.K), cuda.Float(p.Eps), cuda.Bool(p.RMS))
}

// deviceNormLinearGrad is a backward pass on a device.
type deviceNormLinearGrad struct {
	kernel.NormLinearParams
	c         *graph.DeviceCall
	dz, z     cuda.Array // [rows, K]
	x, addend cuda.Array // [rows, width]
	w, gain   cuda.Array // [width, K], [width]
	normLinearSaved
}

func (k normLinearGrad) Launch(c *graph.DeviceCall) error {
	g := deviceNormLinearGrad{NormLinearParams: k.of.params(c.Signature(2), c.Signature(3)), c: c}
	gain := -1
	if k.gain {
		gain = 4
	}
	for _, a := range []struct {
		to *cuda.Array
		i  int
		t  cuda.Type
	}{
		{&g.dz, 0, cuda.F32}, {&g.z, 1, cuda.F32}, {&g.x, 2, c.Out().Type}, {&g.w, 3, cuda.F32},
		{&g.gain, gain, cuda.F32}, {&g.addend, k.addend(), c.Out().Type},
	} {
		var err error
		if *a.to, err = c.InAs(a.i, a.t); err != nil {
			return err
		}
	}
	var err error
	if g.normLinearSaved, err = k.of.saved.onDevice(c, g.NormLinearParams); err != nil {
		return err
	}
	if err := g.gradX(); err != nil {
		return err
	}
	return g.gradW()
}

func (g *deviceNormLinearGrad) gradX() error {
	dx := g.c.Out()
	grid := cuda.Grid{X: cuda.CeilDiv(g.Rows, normLinearGradRows), Y: cuda.CeilDiv(g.Width, normLinearSlice), Threads: 256}
	return g.c.Launch("norm_linear_grad_x"+dx.Suffix(), grid,
		dx.Arg(), g.addend.Arg(), g.dz.Arg(), g.z.Arg(), g.x.Arg(), g.gain.Arg(), g.w.Arg(), g.mean.Arg(), g.rstd.Arg(), g.sums.Arg(),
		cuda.Long(g.Rows), cuda.Int(g.Width), cuda.Int(g.K), cuda.Bool(g.RMS))
}

// gradW makes the secondaries dw and dgain, where they were built: first V of blocks of
// rows side by side, then their sum.
func (g *deviceNormLinearGrad) gradW() error {
	dw, addW, finishW, err := g.c.FloatSecondary(0)
	if err != nil {
		return err
	}
	dgain, addGain, finishGain, err := g.c.FloatSecondary(1)
	if err != nil || dw.None() && dgain.None() {
		return err
	}
	parts, count, err := g.parts()
	if err != nil {
		return err
	}
	err = g.c.Launch("norm_linear_collect", cuda.Grid{X: cuda.CeilDiv(g.Width, 8), Threads: 256},
		dw.Arg(), dgain.Arg(), parts.Arg(), g.gain.Arg(), g.w.Arg(),
		cuda.Int(count), cuda.Int(g.Width), cuda.Int(g.K), cuda.Bool(addW), cuda.Bool(addGain))
	if err != nil {
		return err
	}
	if err := finishW(); err != nil {
		return err
	}
	return finishGain()
}

// parts makes V of count blocks of rows [count, width, K]: as many as fill a GPU.
func (g *deviceNormLinearGrad) parts() (parts cuda.Array, count int, err error) {
	const blocks = 512
	slices, groups := cuda.CeilDiv(g.Width, normLinearSlice), cuda.CeilDiv(g.K, normLinearColumns)
	tiles := cuda.CeilDiv(g.Rows, normLinearRows)
	length := cuda.CeilDiv(tiles, min(tiles, cuda.CeilDiv(blocks, slices*groups))) * normLinearRows
	count = cuda.CeilDiv(g.Rows, length)
	if parts, err = g.c.Scratch(cuda.F32, count*g.Width*g.K); err != nil {
		return parts, count, err
	}
	return parts, count, g.c.Launch("norm_linear_grad_w"+g.x.Suffix(), cuda.Grid{X: slices, Y: count, Z: groups, Threads: 256},
		parts.Arg(), g.dz.Arg(), g.x.Arg(), g.mean.Arg(), g.rstd.Arg(),
		cuda.Long(g.Rows), cuda.Long(length), cuda.Int(g.Width), cuda.Int(g.K), cuda.Bool(g.RMS))
}
