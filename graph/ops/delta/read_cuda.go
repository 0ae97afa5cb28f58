package delta

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// terms are arguments that the kernels of a read share: the sizes, and which terms there are.
func terms(p kernel.DeltaReadParams) []cuda.Arg {
	return []cuda.Arg{cuda.Int(p.Tokens), cuda.Int(p.Seq), cuda.Int(p.N), cuda.Int(p.D), cuda.Int(p.Taps), cuda.Int(p.FirstLag), cuda.Int(p.LastLag)}
}

// weights are the filter, the zero Array for none, and r.
func (k read) weights(c *graph.DeviceCall) (filter, r cuda.Array, err error) {
	in, err := c.InAll(cuda.F32, k.filterInput(), 1)
	if err != nil {
		return filter, r, err
	}
	return in[0], in[1], nil
}

// Launch has a thread for four columns of a token.
func (k read) Launch(c *graph.DeviceCall) error {
	u, p := c.Out(), k.paramsOf(c)
	x, err := c.InAs(0, u.Type)
	if err != nil {
		return err
	}
	filter, r, err := k.weights(c)
	if err != nil {
		return err
	}
	var carried, rows cuda.Array
	back := 0
	if k.cache != nil {
		if carried, rows, back, err = k.carried(c, x.Type, p); err != nil {
			return err
		}
	}
	args := append([]cuda.Arg{u.Arg(), x.Arg(), filter.Arg(), r.Arg(), c.In(k.startsInput()).Arg()}, terms(p)...)
	err = c.Launch("delta_read"+u.Suffix(), cuda.QuadRows(p.Tokens, p.D), append(args, carried.Arg(), rows.Arg(), cuda.Int(back))...)
	if err != nil || k.cache == nil {
		return err
	}
	batch, size := p.Tokens/p.Seq, p.N*p.D
	return c.Launch("delta_carry"+x.Suffix(), cuda.QuadRows(batch*back, size), carried.Arg(), x.Arg(), rows.Arg(),
		cuda.Int(batch), cuda.Int(p.Seq), cuda.Int(size), cuda.Int(back))
}

// carried is what the cache has of earlier positions, [cached rows, 2, back, n, D], and which rows are whose.
func (k read) carried(c *graph.DeviceCall, t cuda.Type, p kernel.DeltaReadParams) (carried, rows cuda.Array, back int, err error) {
	back = graph.Carried[float32](k.cache).Back
	if carried, err = c.Cached(k.cache, t, k.cache.Batch()*2*back*p.N*p.D); err == nil {
		rows, err = c.CachedRows(k.cache)
	}
	return carried, rows, back, err
}

// Launch makes dx, and then the sums over tokens.
func (k readGrad) Launch(c *graph.DeviceCall) error {
	dx, p := c.Out(), k.of.paramsOf(c)
	in, err := c.InAll(dx.Type, 0, k.gradient, k.gradient+1)
	if err != nil {
		return err
	}
	filter, r, err := k.of.weights(c)
	if err != nil {
		return err
	}
	x, du, addend, starts := in[0], in[1], in[2], c.In(k.of.startsInput())
	args := append([]cuda.Arg{dx.Arg(), du.Arg(), filter.Arg(), r.Arg(), starts.Arg(), addend.Arg()}, terms(p)...)
	if err := c.Launch("delta_read_grad"+dx.Suffix(), cuda.QuadRows(p.Tokens, p.D), args...); err != nil {
		return err
	}
	return k.sums(c, p, du, x, starts, filter, r)
}

const (
	// readSlabs is the most blocks of tokens that share the gradient of a filter.
	readSlabs = 64
	// readChunk is the fewest tokens of one.
	readChunk = 32
)

// sums are the gradients of r and of the filter.
func (k readGrad) sums(c *graph.DeviceCall, p kernel.DeltaReadParams, du, x, starts, filter, r cuda.Array) error {
	dr, err := c.SecondaryAs(0, cuda.F32)
	if err != nil {
		return err
	}
	df, err := c.SecondaryAs(1, cuda.F32)
	if err != nil || dr.Array.None() && df.Array.None() {
		return err
	}
	chunk := max(readChunk, cuda.CeilDiv(p.Tokens, readSlabs))
	slabs, size := cuda.CeilDiv(p.Tokens, chunk), p.Taps*p.N*p.D
	both, err := c.Scratch(cuda.F32, (slabs+1)*size)
	if err != nil {
		return err
	}
	partial, sums := both.Slice(0, slabs*size), both.Slice(slabs*size, size)
	grid := cuda.QuadRows(p.Taps*p.N, p.D)
	grid.Y = slabs
	args := append([]cuda.Arg{partial.Arg(), du.Arg(), x.Arg(), starts.Arg()}, terms(p)...)
	if err := c.Launch("delta_filter_grad"+du.Suffix(), grid, append(args, cuda.Int(chunk))...); err != nil {
		return err
	}
	if err := c.Totals(sums, partial, cuda.Array{}, slabs, size, false); err != nil {
		return err
	}
	err = c.Launch("delta_read_sums", cuda.Grid{X: p.N, Threads: 256}, df.Array.Arg(), dr.Array.Arg(), sums.Arg(), filter.Arg(), r.Arg(),
		cuda.Int(p.N), cuda.Int(p.D), cuda.Int(p.Taps), cuda.Bool(df.Accumulate), cuda.Bool(dr.Accumulate))
	if err != nil {
		return err
	}
	if err := dr.Deliver(); err != nil {
		return err
	}
	return df.Deliver()
}
