//go:build cuda

package graph

import (
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// The tiles of cuda/normlinear.cu: rows, entries of a row and columns of w, and the rows
// that a block makes dx of.
const (
	normLinearRows     = 32
	normLinearSlice    = 128
	normLinearColumns  = 32
	normLinearGradRows = 4 * normLinearRows
)

func ceilDiv(n, by int) int { return (n + by - 1) / by }

// normLinearSaved is what the forward pass leaves on a device.
type normLinearSaved struct{ mean, rstd, sums cuda.Array }

func (s *normLinearStats) onDevice(c *deviceCall, p kernel.NormLinearParams) (saved normLinearSaved, err error) {
	all, err := c.saved(&s.device, cuda.F32, 3*p.Rows+p.K)
	return normLinearSaved{all.Slice(0, 2*p.Rows), all.Slice(2*p.Rows, p.Rows), all.Slice(3*p.Rows, p.K)}, err
}

func (k normLinear) launch(c *deviceCall) error {
	p := k.params(c.op.in[0], c.op.in[1])
	saved, err := k.saved.onDevice(c, p)
	if err != nil {
		return err
	}
	w, err := c.inAs(1, cuda.F32)
	if err != nil {
		return err
	}
	gain, err := c.inAs(2, cuda.F32)
	if err != nil {
		return err
	}
	x := c.in(0)
	grid := cuda.Grid{X: ceilDiv(p.Rows, normLinearRows), Y: ceilDiv(p.K, normLinearColumns), Threads: 256}
	return c.launch("norm_linear"+x.Suffix(), grid,
		c.out().Arg(), saved.mean.Arg(), saved.rstd.Arg(), saved.sums.Arg(), x.Arg(), gain.Arg(), w.Arg(),
		cuda.Long(p.Rows), cuda.Int(p.Width), cuda.Int(p.K), cuda.Float(p.Eps), cuda.Bool(p.RMS))
}

// deviceNormLinearGrad is a backward pass on a device.
type deviceNormLinearGrad struct {
	kernel.NormLinearParams
	c         *deviceCall
	dz, z     cuda.Array // [rows, K]
	x, addend cuda.Array // [rows, width]
	w, gain   cuda.Array // [width, K], [width]
	normLinearSaved
}

func (k normLinearGrad) launch(c *deviceCall) error {
	g := deviceNormLinearGrad{NormLinearParams: k.params(c.op.in[2], c.op.in[3]), c: c}
	gain := -1
	if k.gain {
		gain = 4
	}
	for _, a := range []struct {
		to *cuda.Array
		i  int
		t  cuda.Type
	}{
		{&g.dz, 0, cuda.F32}, {&g.z, 1, cuda.F32}, {&g.x, 2, c.out().Type}, {&g.w, 3, cuda.F32},
		{&g.gain, gain, cuda.F32}, {&g.addend, k.addend(), c.out().Type},
	} {
		var err error
		if *a.to, err = c.inAs(a.i, a.t); err != nil {
			return err
		}
	}
	var err error
	if g.normLinearSaved, err = k.saved.onDevice(c, g.NormLinearParams); err != nil {
		return err
	}
	if err := g.gradX(); err != nil {
		return err
	}
	return g.gradW()
}

func (g *deviceNormLinearGrad) gradX() error {
	dx := g.c.out()
	grid := cuda.Grid{X: ceilDiv(g.Rows, normLinearGradRows), Y: ceilDiv(g.Width, normLinearSlice), Threads: 256}
	return g.c.launch("norm_linear_grad_x"+dx.Suffix(), grid,
		dx.Arg(), g.addend.Arg(), g.dz.Arg(), g.z.Arg(), g.x.Arg(), g.gain.Arg(), g.w.Arg(), g.mean.Arg(), g.rstd.Arg(), g.sums.Arg(),
		cuda.Long(g.Rows), cuda.Int(g.Width), cuda.Int(g.K), cuda.Bool(g.RMS))
}

// gradW makes the secondaries dw and dgain, where they were built: first V of blocks of
// rows side by side, then their sum.
func (g *deviceNormLinearGrad) gradW() error {
	dw, addW, finishW, err := g.c.floatCompanion(0)
	if err != nil {
		return err
	}
	dgain, addGain, finishGain, err := g.c.floatCompanion(1)
	if err != nil || dw.None() && dgain.None() {
		return err
	}
	parts, count, err := g.parts()
	if err != nil {
		return err
	}
	err = g.c.launch("norm_linear_collect", cuda.Grid{X: ceilDiv(g.Width, 8), Threads: 256},
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
	slices, groups := ceilDiv(g.Width, normLinearSlice), ceilDiv(g.K, normLinearColumns)
	tiles := ceilDiv(g.Rows, normLinearRows)
	length := ceilDiv(tiles, min(tiles, ceilDiv(blocks, slices*groups))) * normLinearRows
	count = ceilDiv(g.Rows, length)
	if parts, err = g.c.scratch(cuda.F32, count*g.Width*g.K); err != nil {
		return parts, count, err
	}
	return parts, count, g.c.launch("norm_linear_grad_w"+g.x.Suffix(), cuda.Grid{X: slices, Y: count, Z: groups, Threads: 256},
		parts.Arg(), g.dz.Arg(), g.x.Arg(), g.mean.Arg(), g.rstd.Arg(),
		cuda.Long(g.Rows), cuda.Long(length), cuda.Int(g.Width), cuda.Int(g.K), cuda.Bool(g.RMS))
}
