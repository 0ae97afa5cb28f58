package elementwise

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// sumWays is the number of sums that a thread of cuda/multiwaysum.cu computes.
const sumWays = 4

// Launch sums groups of tensors one after another; all groups but the last add to 32-bit floats.
func (multiwaySum) Launch(c *graph.DeviceCall) {
	y, p := c.Out(), multiwayParams(c.Signature(0), c.Signature(1), len(c.Inputs())-1)
	last, _ := c.SecondaryOut(0)
	weights := c.InAs(0, cuda.F32)
	var part cuda.Array
	if p.Terms > sumTerms {
		part = c.Scratch(cuda.F32, p.Tokens*p.Ways*p.Width)
	}
	grid := cuda.QuadRows(p.Tokens, p.Width)
	grid.Y = cuda.CeilDiv(p.Ways, sumWays)
	sumGroups(c, y.Type, 1, p.Terms, func(g deviceSumGroup) {
		c.Launch("multiway_sum"+y.Suffix(), grid, y, last, part, weights.Slice(g.first, weights.N-g.first), g.args,
			cuda.Ints(p.Terms, p.Ways, p.Tokens, p.Width), cuda.Bool(g.first == 0), cuda.Bool(g.last))
	})
}

// onDevice returns the gradients in type t; the zero Array for one that is missing.
func (k multiwayGradients) onDevice(c *graph.DeviceCall, t cuda.Type) (packed, last cuda.Array) {
	if k.packed {
		packed = c.InAs(0, t)
	}
	if k.last {
		last = c.InAs(k.count()-1, t)
	}
	return packed, last
}

func (k multiwayWeightsGrad) Launch(c *graph.DeviceCall) {
	first := k.count()
	da, t, p := c.Out(), c.Activation(), multiwayParams(k.weights, c.Signature(first), len(c.Inputs())-first)
	packed, last := k.onDevice(c, t)
	grid := cuda.Grid{X: cuda.CeilDiv(p.Tokens*p.Ways, 8), Threads: 256}
	sumGroups(c, t, first, p.Terms, func(g deviceSumGroup) {
		c.Launch("multiway_weights_"+t.String(), grid, da.Slice(g.first, da.N-g.first), packed, last, g.args,
			cuda.Ints(p.Terms, p.Ways, p.Tokens, p.Width), cuda.Bool(c.Accumulate()))
	})
}

func (k multiwayTermGrad) Launch(c *graph.DeviceCall) {
	dx, at := c.Out(), k.count()
	p := multiwayParams(c.Signature(at), c.Result(), k.terms)
	packed, last := k.onDevice(c, dx.Type)
	weights := c.InAs(at, cuda.F32)
	addend := c.InAs(at+1, dx.Type)
	c.Launch("multiway_term"+dx.Suffix(), cuda.QuadRows(p.Tokens, p.Width),
		dx, packed, last, weights.Slice(k.j, weights.N-k.j), addend,
		cuda.Ints(p.Terms, p.Ways, p.Tokens, p.Width))
}
