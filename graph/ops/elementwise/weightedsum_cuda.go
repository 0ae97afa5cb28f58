package elementwise

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

const (
	sumTerms  = 8    // largest number of tensors that one launch of cuda/weightedsum.cu sums
	sumBlocks = 512  // largest number of blocks that share the gradient of weights for all tokens
	sumChunk  = 4096 // smallest number of elements of a block
)

// deviceSumGroup is a group of at most sumTerms tensors of a weighted sum.
type deviceSumGroup struct {
	first int // number of its first tensor
	last  bool
	args  cuda.Args
}

// sumGroups calls f with groups of the tensors in type t. The tensors are the op's last inputs,
// terms of them, beginning with input number from.
func sumGroups(c *graph.DeviceCall, t cuda.Type, from, terms int, f func(g deviceSumGroup)) {
	for first := 0; first < terms; first += sumTerms {
		g := deviceSumGroup{first: first, last: first+sumTerms >= terms}
		for j := first; j < first+sumTerms; j++ {
			g.args = append(g.args, c.InAs(from+j, t))
		}
		f(g)
	}
}

// weightStride returns the distance between the first weights of successive tokens: 0 if all tokens
// share the weights.
func weightStride(p kernel.WeightedSumParams) cuda.Arg {
	if p.Shared {
		return cuda.Int(0)
	}
	return cuda.Int(p.Terms)
}

// Launch sums the groups one after another; all groups but the last add to 32-bit floats.
func (weightedSum) Launch(c *graph.DeviceCall) {
	y, p := c.Out(), sumParams(c.Signature(0), c.Result())
	weights := c.InAs(0, cuda.F32)
	part := y
	if p.Terms > sumTerms && y.Type != cuda.F32 {
		part = c.Scratch(cuda.F32, y.N)
	}
	var base cuda.Array
	sumGroups(c, y.Type, 1, p.Terms, func(g deviceSumGroup) {
		name, to := "weighted_sum"+y.Suffix(), y
		if !g.last && y.Type != cuda.F32 {
			name, to = "weighted_sum_part"+y.Suffix(), part
		}
		c.Launch(name, cuda.QuadRows(p.Tokens, p.Width),
			to, base, weights.Slice(g.first, weights.N-g.first), g.args, weightStride(p), cuda.Ints(p.Tokens, p.Width))
		base = to
	})
}

func (sumWeightsGrad) Launch(c *graph.DeviceCall) {
	da, t, p := c.Out(), c.Activation(), sumParams(c.Result(), c.Signature(0))
	dy := c.InAs(0, t)
	if !p.Shared {
		sumGroups(c, t, 1, p.Terms, func(g deviceSumGroup) {
			c.Launch("weights_grad_each"+dy.Suffix(), cuda.Grid{X: cuda.CeilDiv(p.Tokens, 8), Threads: 256}, da.Slice(g.first, da.N-g.first), dy, g.args,
				cuda.Ints(p.Terms, p.Tokens, p.Width), cuda.Bool(c.Accumulate()))
		})
		return
	}
	chunk := max(sumChunk, cuda.CeilDiv(cuda.CeilDiv(dy.N, sumBlocks), sumChunk)*sumChunk)
	blocks := cuda.CeilDiv(dy.N, chunk)
	partial := c.Scratch(cuda.F32, blocks*p.Terms) // [blocks, k]
	sumGroups(c, t, 1, p.Terms, func(g deviceSumGroup) {
		c.Launch("weights_grad"+dy.Suffix(), cuda.Grid{X: blocks, Threads: 256}, partial.Slice(g.first, partial.N-g.first), dy, g.args,
			cuda.Int(p.Terms), cuda.Long(dy.N), cuda.Long(chunk))
	})
	c.Totals(da, partial, cuda.Array{}, blocks, p.Terms, c.Accumulate())
}

func (k sumTermGrad) Launch(c *graph.DeviceCall) {
	dx, p := c.Out(), sumParams(c.Signature(1), c.Result())
	in := c.InAll(dx.Type, 0, 2)
	weights := c.InAs(1, cuda.F32)
	c.Launch("weighted_term"+dx.Suffix(), cuda.QuadRows(p.Tokens, p.Width),
		dx, in[0], weights.Slice(k.j, weights.N-k.j), in[1], weightStride(p), cuda.Ints(p.Tokens, p.Width))
}
