package elementwise

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

const (
	sumTerms  = 8    // the most tensors of one launch of cuda/weightedsum.cu
	sumBlocks = 512  // the most blocks that share the gradient of weights for all tokens
	sumChunk  = 4096 // the fewest elements of a block
)

// deviceSumGroup is up to sumTerms of a weighted sum's tensors.
type deviceSumGroup struct {
	first int // number of the first tensor
	last  bool
	args  []cuda.Arg
}

// sumGroups calls f with groups of the tensors, which are so many inputs from number from on, the last
// ones, in type t.
func sumGroups(c *graph.DeviceCall, t cuda.Type, from, terms int, f func(g deviceSumGroup) error) error {
	for first := 0; first < terms; first += sumTerms {
		g := deviceSumGroup{first: first, last: first+sumTerms >= terms}
		for j := first; j < first+sumTerms; j++ {
			x, err := c.InAs(from+j, t)
			if err != nil {
				return err
			}
			g.args = append(g.args, x.Arg())
		}
		if err := f(g); err != nil {
			return err
		}
	}
	return nil
}

// weightStride is how many weights lie between a token's first and the next token's.
func weightStride(p kernel.WeightedSumParams) cuda.Arg {
	if p.Shared {
		return cuda.Int(0)
	}
	return cuda.Int(p.Terms)
}

// Launch sums the groups one after another, all but the last into 32-bit floats.
func (weightedSum) Launch(c *graph.DeviceCall) error {
	y, p := c.Out(), sumParams(c.Signature(0), c.Result())
	weights, err := c.InAs(0, cuda.F32)
	if err != nil {
		return err
	}
	part := y
	if p.Terms > sumTerms && y.Type != cuda.F32 {
		if part, err = c.Scratch(cuda.F32, y.N); err != nil {
			return err
		}
	}
	var base cuda.Array
	return sumGroups(c, y.Type, 1, p.Terms, func(g deviceSumGroup) error {
		name, to := "weighted_sum"+y.Suffix(), y
		if !g.last && y.Type != cuda.F32 {
			name, to = "weighted_sum_part"+y.Suffix(), part
		}
		args := []cuda.Arg{to.Arg(), base.Arg(), weights.Slice(g.first, weights.N-g.first).Arg()}
		base = to
		return c.Launch(name, cuda.QuadRows(p.Tokens, p.Width), append(append(args, g.args...),
			weightStride(p), cuda.Int(p.Tokens), cuda.Int(p.Width))...)
	})
}

func (sumWeightsGrad) Launch(c *graph.DeviceCall) error {
	da, t, p := c.Out(), c.Activation(), sumParams(c.Result(), c.Signature(0))
	dy, err := c.InAs(0, t)
	if err != nil {
		return err
	}
	if !p.Shared {
		return sumGroups(c, t, 1, p.Terms, func(g deviceSumGroup) error {
			args := []cuda.Arg{da.Slice(g.first, da.N-g.first).Arg(), dy.Arg()}
			return c.Launch("weights_grad_each"+dy.Suffix(), cuda.Grid{X: cuda.CeilDiv(p.Tokens, 8), Threads: 256}, append(append(args, g.args...),
				cuda.Int(p.Terms), cuda.Int(p.Tokens), cuda.Int(p.Width), cuda.Bool(c.Accumulate()))...)
		})
	}
	chunk := max(sumChunk, cuda.CeilDiv(cuda.CeilDiv(dy.N, sumBlocks), sumChunk)*sumChunk)
	blocks := cuda.CeilDiv(dy.N, chunk)
	partial, err := c.Scratch(cuda.F32, blocks*p.Terms) // [blocks, k]
	if err != nil {
		return err
	}
	err = sumGroups(c, t, 1, p.Terms, func(g deviceSumGroup) error {
		args := []cuda.Arg{partial.Slice(g.first, partial.N-g.first).Arg(), dy.Arg()}
		return c.Launch("weights_grad"+dy.Suffix(), cuda.Grid{X: blocks, Threads: 256}, append(append(args, g.args...),
			cuda.Int(p.Terms), cuda.Long(dy.N), cuda.Long(chunk))...)
	})
	if err != nil {
		return err
	}
	return c.Totals(da, partial, cuda.Array{}, blocks, p.Terms, c.Accumulate())
}

func (k sumTermGrad) Launch(c *graph.DeviceCall) error {
	dx, p := c.Out(), sumParams(c.Signature(1), c.Result())
	in, err := c.InAll(dx.Type, 0, 2)
	if err != nil {
		return err
	}
	weights, err := c.InAs(1, cuda.F32)
	if err != nil {
		return err
	}
	return c.Launch("weighted_term"+dx.Suffix(), cuda.QuadRows(p.Tokens, p.Width),
		dx.Arg(), in[0].Arg(), weights.Slice(k.j, weights.N-k.j).Arg(), in[1].Arg(), weightStride(p), cuda.Int(p.Tokens), cuda.Int(p.Width))
}
