package delta

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// readSizes returns arguments that the kernels of a read share: the sizes, and which terms to sum.
func readSizes(p kernel.DeltaReadParams) cuda.Args {
	return cuda.Ints(p.Tokens, p.Seq, p.N, p.D, p.Taps, p.FirstLag, p.LastLag)
}

// terms is like readSizes, and says whether the token itself is added, and how far tokens are
// apart.
func terms(p kernel.DeltaReadParams) cuda.Args {
	return append(append(readSizes(p), cuda.Bool(p.Residual)), pitches(p)...)
}

// pitches returns the distances between tokens of x and of u.
func pitches(p kernel.DeltaReadParams) cuda.Args {
	token, _, result := p.Pitches()
	return cuda.Ints(token, result)
}

// from returns the part of a that begins with the first entry that is read.
func from(a cuda.Array, p kernel.DeltaReadParams) cuda.Array {
	if a.None() {
		return a
	}
	return a.Slice(p.First, a.N-p.First)
}

// copyTokens copies tokens of the given width.
func copyTokens(c *graph.DeviceCall, to, from cuda.Array, tokens, width int) {
	c.Launch("columns"+to.Suffix(), cuda.QuadRows(tokens, width), to, cuda.Int(width), from, cuda.Ints(width, tokens, width))
}

// weights returns the filter, the zero Array if there is none, and r.
func (k read) weights(c *graph.DeviceCall) (filter, r cuda.Array) {
	in := c.InAll(cuda.F32, k.filter, k.row())
	return in[0], in[1]
}

// Launch uses one thread for four columns of a token. A copy of all entries comes first where some
// are not convolved.
func (k read) Launch(c *graph.DeviceCall) {
	u, p := c.Out(), k.paramsOf(c)
	x := c.InAs(0, u.Type)
	filter, r := k.weights(c)
	var carried, rows cuda.Array
	back := 0
	if k.cache != nil {
		carried, rows, back = k.carried(c, x.Type, p)
	}
	if p.Width > 0 {
		copyTokens(c, u, x, p.Tokens, p.Width)
	}
	c.Launch("delta_read"+u.Suffix(), cuda.QuadRows(p.Tokens, p.D), from(u, p), from(x, p), filter, r, c.In(k.starts), terms(p),
		from(carried, p), rows, cuda.Int(back))
	if k.cache == nil {
		return
	}
	size, _, _ := p.Pitches()
	batch := p.Tokens / p.Seq
	c.Launch("delta_carry"+x.Suffix(), cuda.QuadRows(batch*back, size), carried, x, rows,
		cuda.Ints(batch, p.Seq, size, back))
}

// carried returns the cached earlier positions, [cached rows, 2, back, entries of a token], and
// which cached row each row of the run extends.
func (k read) carried(c *graph.DeviceCall, t cuda.Type, p kernel.DeltaReadParams) (carried, rows cuda.Array, back int) {
	back = graph.Carried[float32](k.cache).Back
	size, _, _ := p.Pitches()
	return c.Cached(k.cache, t, k.cache.Batch()*2*back*size), c.CachedRows(k.cache), back
}

// Launch computes dx, and then the sums over tokens.
func (k readGrad) Launch(c *graph.DeviceCall) {
	dx, p := c.Out(), k.of.paramsOf(c)
	in := c.InAll(dx.Type, 0, k.gradient, k.gradient+1)
	filter, r := k.of.weights(c)
	x, du, addend, starts := in[0], in[1], in[2], c.In(k.of.starts)
	width, _, _ := p.Pitches()
	switch {
	case du.Ptr == dx.Ptr: // threads would read what others have replaced
		du = c.Scratch(dx.Type, dx.N)
		copyTokens(c, du, dx, p.Tokens, width)
	case p.Width > 0:
		copyTokens(c, dx, du, p.Tokens, width)
	}
	c.Launch("delta_read_grad"+dx.Suffix(), cuda.QuadRows(p.Tokens, p.D), from(dx, p), from(du, p), filter, r, starts, addend, terms(p))
	k.sums(c, p, from(du, p), from(x, p), starts, filter, r)
}

const (
	// readSlabs is the largest number of blocks that share the gradient of a filter, by slabs of
	// tokens.
	readSlabs = 64
	// readChunk is the smallest number of tokens in a slab.
	readChunk = 32
)

// sums computes the gradients of r and of the filter.
func (k readGrad) sums(c *graph.DeviceCall, p kernel.DeltaReadParams, du, x, starts, filter, r cuda.Array) {
	dr := c.SecondaryAs(0, cuda.F32)
	df := c.SecondaryAs(1, cuda.F32)
	if dr.Array.None() && df.Array.None() {
		return
	}
	chunk := max(readChunk, cuda.CeilDiv(p.Tokens, readSlabs))
	slabs, size := cuda.CeilDiv(p.Tokens, chunk), p.Taps*p.N*p.D
	both := c.Scratch(cuda.F32, (slabs+1)*size)
	partial, sums := both.Slice(0, slabs*size), both.Slice(slabs*size, size)
	grid := cuda.QuadRows(p.Taps*p.N, p.D)
	grid.Y = slabs
	c.Launch("delta_filter_grad"+du.Suffix(), grid, partial, du, x, starts, readSizes(p), pitches(p), cuda.Int(chunk))
	c.Totals(sums, partial, cuda.Array{}, slabs, size, false)
	c.Launch("delta_read_sums", cuda.Grid{X: p.N, Threads: 256}, df.Array, dr.Array, sums, filter, r,
		cuda.Ints(p.N, p.D, p.Taps), cuda.Bool(df.Accumulate), cuda.Bool(dr.Accumulate))
	dr.Deliver()
	df.Deliver()
}
