package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

const (
	depthTerms  = 8   // largest number of sources in one launch of cuda/depthattention.cu
	depthBlocks = 256 // largest number of blocks that share the gradient of the query
)

// deviceDepth holds an op's sources, query and gain on a device, and what its forward pass saves.
type deviceDepth struct {
	kernel.DepthAttentionParams
	call          *graph.DeviceCall
	v             []cuda.Array // [tokens, width] each
	query, gain   cuda.Array
	weights, rstd cuda.Array // [tokens, heads, sources], [tokens, sources]
}

// onDevice collects the inputs, with sources of type t. from is the number of the query's input.
func (k depthAttention) onDevice(c *graph.DeviceCall, from int, t cuda.Type) (d deviceDepth) {
	d = deviceDepth{DepthAttentionParams: k.params(c.Signature(from + 2)), call: c}
	params := c.InAll(cuda.F32, from, from+1)
	d.query, d.gain = params[0], params[1]
	for i := range k.sources {
		d.v = append(d.v, c.InAs(from+2+i, t))
	}
	d.Heads = k.heads()
	n, all := d.Tokens*d.Sources, d.size()
	both := c.Saved(&k.saved.Device, cuda.F32, all+n)
	d.weights, d.rstd = both.Slice(0, all), both.Slice(all, n)
	return d
}

// groups calls f with groups of at most depthTerms sources, and the number of the first one of
// each.
func (d deviceDepth) groups(f func(first int, sources cuda.Args)) {
	for first := 0; first < d.Sources; first += depthTerms {
		var args cuda.Args
		for i := first; i < first+depthTerms; i++ {
			var v cuda.Array // stays the zero Array
			if i < d.Sources {
				v = d.v[i]
			}
			args = append(args, v)
		}
		f(first, args)
	}
}

// from returns the rest of a [..., sources] from a source on.
func from(a cuda.Array, first int) cuda.Arg { return a.Slice(first, a.N-first) }

// size returns the number of weights.
func (d deviceDepth) size() int { return d.Tokens * d.Heads * d.Sources }

// sizes returns the numbers of sources, heads and tokens and the width as kernel arguments.
func (d deviceDepth) sizes() cuda.Args { return cuda.Ints(d.Sources, d.Heads, d.Tokens, d.Width) }

// byHead returns the number of rows and the width of a tensor [tokens, width] of which each head of
// a token is a row.
func (d deviceDepth) byHead() (rows, width int) { return d.Tokens * d.Heads, d.Width / d.Heads }

// suffix returns the suffix of the kernels' names.
func (d deviceDepth) suffix() string { return d.v[0].Suffix() }

// attend computes the weights.
func (d deviceDepth) attend() {
	d.groups(func(first int, sources cuda.Args) {
		d.call.Launch("depth_scores"+d.suffix(), cuda.Grid{X: cuda.CeilDiv(d.Tokens, 8), Threads: 256}, from(d.weights, first), from(d.rstd, first), d.query,
			d.gain, sources, d.sizes(), cuda.Float(d.Eps))
	})
	d.call.Launch("depth_softmax", perToken(d.Tokens*d.Heads), d.weights, d.rstd, cuda.Ints(d.Sources, d.Heads, d.Tokens))
}

// Launch sums the groups one after another; all groups but the last add to 32-bit floats.
func (k depthAttention) Launch(c *graph.DeviceCall) {
	u := c.Out()
	d := k.onDevice(c, 0, u.Type)
	d.attend()
	part := u
	if d.Sources > depthTerms && u.Type != cuda.F32 {
		part = c.Scratch(cuda.F32, u.N)
	}
	var base cuda.Array
	rows, width := d.byHead()
	d.groups(func(first int, sources cuda.Args) {
		name, to := "weighted_sum"+u.Suffix(), u
		if first+depthTerms < d.Sources && u.Type != cuda.F32 {
			name, to = "weighted_sum_part"+u.Suffix(), part
		}
		c.Launch(name, cuda.QuadRows(rows, width), to, base, from(d.weights, first), sources, cuda.Ints(d.Sources, rows, width))
		base = to
	})
}

func (k depthWeights) Launch(c *graph.DeviceCall) {
	d := k.onDevice(c, 0, c.Activation())
	d.attend()
	c.CopyTo(c.Out(), d.weights)
}

func (k depthGrad) Launch(c *graph.DeviceCall) {
	d := k.of.onDevice(c, 1, c.Out().Type)
	n := d.size()
	scratch := c.Scratch(cuda.F32, 3*n)
	g := deviceDepthGrad{deviceDepth: d, da: scratch.Slice(0, n), c: scratch.Slice(n, n), own: scratch.Slice(2*n, n)}
	if k.ofWeights {
		g.da = c.InAs(0, cuda.F32)
	} else {
		g.du = c.InAs(0, c.Out().Type)
	}
	g.coefficients()
	g.parameters() // before the gradients of the sources take memory
	k.gradients(g)
}

// deviceDepthGrad is a backward pass. The gradient of source i is a sum that contains c times query
// ⊙ gain and own times the source; c and own are [tokens, heads, sources], but own is the same for
// all heads of a token, and is stored at the first one.
type deviceDepthGrad struct {
	deviceDepth
	du, da, c, own cuda.Array
}

func (g deviceDepthGrad) coefficients() {
	g.groups(func(first int, sources cuda.Args) {
		g.call.Launch("depth_dots"+g.suffix(), cuda.Grid{X: cuda.CeilDiv(g.Tokens, 8), Threads: 256},
			from(g.da, first), from(g.own, first), g.du, g.query, g.gain, sources, g.sizes())
	})
	g.call.Launch("depth_coefficients", perToken(g.Tokens), g.c, g.own, g.da, g.weights, g.rstd,
		g.sizes())
}

// parameters computes the gradients of query and gain, if they are wanted.
func (g deviceDepthGrad) parameters() {
	chunk := max(8, cuda.CeilDiv(g.Tokens, depthBlocks))
	blocks := cuda.CeilDiv(g.Tokens, chunk)
	partial := g.call.Scratch(cuda.F32, (blocks+1)*g.Width) // [blocks, width], dq
	g.groups(func(first int, sources cuda.Args) {
		g.call.Launch("depth_query"+g.suffix(), cuda.Grid{X: blocks, Y: cuda.CeilDiv(g.Width, 256), Threads: 256}, partial, from(g.c, first), sources,
			g.sizes(), cuda.Int(chunk), cuda.Bool(first == 0))
	})
	dq := partial.Slice(blocks*g.Width, g.Width)
	g.call.Totals(dq, partial, cuda.Array{}, blocks, g.Width, false)
	for i, by := range []cuda.Array{g.gain, g.query} {
		if to, accumulate := g.call.SecondaryOut(g.Sources - 1 + i); !to.None() {
			g.call.Launch("depth_parameters", cuda.Over(g.Width, 256), to, dq, by, cuda.Int(g.Width), cuda.Bool(accumulate))
		}
	}
}

// gradients computes the gradients of the sources that are wanted.
func (k depthGrad) gradients(g deviceDepthGrad) {
	rows, width := g.byHead()
	for i, v := range g.v {
		result := graph.SecondaryResult{Array: g.call.Out(), Deliver: func() {}}
		if i > 0 {
			result = g.call.SecondaryAs(i-1, v.Type)
		}
		if result.Array.None() {
			continue
		}
		var addend cuda.Array
		if k.addends[i] > 0 {
			addend = g.call.InAs(k.addends[i], v.Type)
		}
		g.call.Launch("depth_source"+g.suffix(), cuda.QuadRows(rows, width), result.Array, addend, g.du, v,
			g.query, g.gain, from(g.weights, i), from(g.c, i), from(g.own, i), cuda.Ints(g.Sources, g.Heads, rows, width))
		result.Deliver()
	}
}
