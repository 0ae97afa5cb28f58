package elementwise

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// sumWays is the number of sums of a thread of cuda/multiwaysum.cu.
const sumWays = 4

// Launch sums groups of tensors one after another, all but the last into 32-bit floats.
func (multiwaySum) Launch(c *graph.DeviceCall) error {
	y, p := c.Out(), multiwayParams(c.Signature(0), c.Signature(1), len(c.Inputs())-1)
	last, _, err := c.SecondaryOut(0)
	if err != nil {
		return err
	}
	weights, err := c.InAs(0, cuda.F32)
	if err != nil {
		return err
	}
	var part cuda.Array
	if p.Terms > sumTerms {
		if part, err = c.Scratch(cuda.F32, p.Tokens*p.Ways*p.Width); err != nil {
			return err
		}
	}
	grid := cuda.QuadRows(p.Tokens, p.Width)
	grid.Y = cuda.CeilDiv(p.Ways, sumWays)
	return sumGroups(c, y.Type, 1, p.Terms, func(g deviceSumGroup) error {
		args := []cuda.Arg{y.Arg(), last.Arg(), part.Arg(), weights.Slice(g.first, weights.N-g.first).Arg()}
		return c.Launch("multiway_sum"+y.Suffix(), grid, append(append(args, g.args...),
			cuda.Int(p.Terms), cuda.Int(p.Ways), cuda.Int(p.Tokens), cuda.Int(p.Width), cuda.Bool(g.first == 0), cuda.Bool(g.last))...)
	})
}

// Launch does nothing: its primary has made it.
func (multiwayLast) Launch(*graph.DeviceCall) error { return nil }

// onDevice are the gradients in type t; None: there is none.
func (k multiwayGradients) onDevice(c *graph.DeviceCall, t cuda.Type) (packed, last cuda.Array, err error) {
	if k.packed {
		if packed, err = c.InAs(0, t); err != nil {
			return packed, last, err
		}
	}
	if k.last {
		last, err = c.InAs(k.count()-1, t)
	}
	return packed, last, err
}

func (k multiwayWeightsGrad) Launch(c *graph.DeviceCall) error {
	first := k.count()
	da, t, p := c.Out(), c.Activation(), multiwayParams(k.weights, c.Signature(first), len(c.Inputs())-first)
	packed, last, err := k.onDevice(c, t)
	if err != nil {
		return err
	}
	grid := cuda.Grid{X: cuda.CeilDiv(p.Tokens*p.Ways, 8), Threads: 256}
	return sumGroups(c, t, first, p.Terms, func(g deviceSumGroup) error {
		args := []cuda.Arg{da.Slice(g.first, da.N-g.first).Arg(), packed.Arg(), last.Arg()}
		return c.Launch("multiway_weights_"+t.String(), grid, append(append(args, g.args...),
			cuda.Int(p.Terms), cuda.Int(p.Ways), cuda.Int(p.Tokens), cuda.Int(p.Width), cuda.Bool(c.Accumulate()))...)
	})
}

func (k multiwayTermGrad) Launch(c *graph.DeviceCall) error {
	dx, at := c.Out(), k.count()
	p := multiwayParams(c.Signature(at), k.x, k.terms)
	packed, last, err := k.onDevice(c, dx.Type)
	if err != nil {
		return err
	}
	weights, err := c.InAs(at, cuda.F32)
	if err != nil {
		return err
	}
	addend, err := c.InAs(at+1, dx.Type)
	if err != nil {
		return err
	}
	return c.Launch("multiway_term"+dx.Suffix(), cuda.QuadRows(p.Tokens, p.Width),
		dx.Arg(), packed.Arg(), last.Arg(), weights.Slice(k.j, weights.N-k.j).Arg(), addend.Arg(),
		cuda.Int(p.Terms), cuda.Int(p.Ways), cuda.Int(p.Tokens), cuda.Int(p.Width))
}
