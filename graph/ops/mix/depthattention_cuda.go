package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

const (
	depthTerms  = 8   // the most sources of one launch of cuda/depthattention.cu
	depthBlocks = 256 // the most blocks that share the gradient of the query
)

// deviceDepth are an op's sources, query and gain on a device, and what its forward pass saves.
type deviceDepth struct {
	kernel.DepthAttentionParams
	call          *graph.DeviceCall
	v             []cuda.Array // [tokens, width] each
	query, gain   cuda.Array
	weights, rstd cuda.Array // [tokens, sources]
}

// onDevice gives the inputs, of which the query is number from, with sources of type t.
func (k depthAttention) onDevice(c *graph.DeviceCall, from int, t cuda.Type) (d deviceDepth, err error) {
	d = deviceDepth{DepthAttentionParams: k.params(c.Signature(from + 2)), call: c}
	params, err := c.InAll(cuda.F32, from, from+1)
	if err != nil {
		return d, err
	}
	d.query, d.gain = params[0], params[1]
	for i := range k.sources {
		v, err := c.InAs(from+2+i, t)
		if err != nil {
			return d, err
		}
		d.v = append(d.v, v)
	}
	n := d.Tokens * d.Sources
	both, err := c.Saved(&k.saved.device, cuda.F32, 2*n)
	if err == nil {
		d.weights, d.rstd = both.Slice(0, n), both.Slice(n, n)
	}
	return d, err
}

// groups calls f with the number of the first of up to depthTerms sources, and with these.
func (d deviceDepth) groups(f func(first int, sources []cuda.Arg) error) error {
	for first := 0; first < d.Sources; first += depthTerms {
		var args []cuda.Arg
		for i := first; i < first+depthTerms; i++ {
			var v cuda.Array // none
			if i < d.Sources {
				v = d.v[i]
			}
			args = append(args, v.Arg())
		}
		if err := f(first, args); err != nil {
			return err
		}
	}
	return nil
}

// from is what is of the tokens and sources, from a source on.
func from(a cuda.Array, first int) cuda.Arg { return a.Slice(first, a.N-first).Arg() }

// suffix is that of the kernels' names.
func (d deviceDepth) suffix() string { return d.v[0].Suffix() }

// attend makes the weights.
func (d deviceDepth) attend() error {
	err := d.groups(func(first int, sources []cuda.Arg) error {
		args := []cuda.Arg{from(d.weights, first), from(d.rstd, first), d.query.Arg(), d.gain.Arg()}
		return d.call.Launch("depth_scores"+d.suffix(), cuda.Grid{X: cuda.CeilDiv(d.Tokens, 8), Threads: 256}, append(append(args, sources...),
			cuda.Int(d.Sources), cuda.Int(d.Tokens), cuda.Int(d.Width), cuda.Float(d.Eps))...)
	})
	if err != nil {
		return err
	}
	return d.call.Launch("depth_softmax", perToken(d.Tokens), d.weights.Arg(), cuda.Int(d.Sources), cuda.Int(d.Tokens))
}

// Launch sums the groups one after another, all but the last into 32-bit floats.
func (k depthAttention) Launch(c *graph.DeviceCall) error {
	u := c.Out()
	d, err := k.onDevice(c, 0, u.Type)
	if err != nil {
		return err
	}
	if err := d.attend(); err != nil {
		return err
	}
	part := u
	if d.Sources > depthTerms && u.Type != cuda.F32 {
		if part, err = c.Scratch(cuda.F32, u.N); err != nil {
			return err
		}
	}
	var base cuda.Array
	return d.groups(func(first int, sources []cuda.Arg) error {
		name, to := "weighted_sum"+u.Suffix(), u
		if first+depthTerms < d.Sources && u.Type != cuda.F32 {
			name, to = "weighted_sum_part"+u.Suffix(), part
		}
		args := []cuda.Arg{to.Arg(), base.Arg(), from(d.weights, first)}
		base = to
		return c.Launch(name, cuda.QuadRows(d.Tokens, d.Width), append(append(args, sources...),
			cuda.Int(d.Sources), cuda.Int(d.Tokens), cuda.Int(d.Width))...)
	})
}

func (k depthWeights) Launch(c *graph.DeviceCall) error {
	d, err := k.onDevice(c, 0, c.Activation())
	if err != nil {
		return err
	}
	if err := d.attend(); err != nil {
		return err
	}
	return c.CopyTo(c.Out(), d.weights)
}

// Launch does nothing: its primary has made it.
func (depthSourceGrad) Launch(*graph.DeviceCall) error { return nil }

func (k depthGrad) Launch(c *graph.DeviceCall) error {
	d, err := k.of.onDevice(c, 1, c.Out().Type)
	if err != nil {
		return err
	}
	n := d.Tokens * d.Sources
	scratch, err := c.Scratch(cuda.F32, 3*n)
	if err != nil {
		return err
	}
	g := deviceDepthGrad{deviceDepth: d, da: scratch.Slice(0, n), c: scratch.Slice(n, n), own: scratch.Slice(2*n, n)}
	if k.ofWeights {
		g.da, err = c.InAs(0, cuda.F32)
	} else {
		g.du, err = c.InAs(0, c.Out().Type)
	}
	if err != nil {
		return err
	}
	if err := g.coefficients(); err != nil {
		return err
	}
	if err := g.parameters(); err != nil { // before sources' gradients take memory
		return err
	}
	return k.gradients(g)
}

// deviceDepthGrad is a backward pass: c and own are the coefficients of q and of a source in its
// gradient, [tokens, sources].
type deviceDepthGrad struct {
	deviceDepth
	du, da, c, own cuda.Array
}

func (g deviceDepthGrad) coefficients() error {
	err := g.groups(func(first int, sources []cuda.Arg) error {
		args := []cuda.Arg{from(g.da, first), from(g.own, first), g.du.Arg(), g.query.Arg(), g.gain.Arg()}
		return g.call.Launch("depth_dots"+g.suffix(), cuda.Grid{X: cuda.CeilDiv(g.Tokens, 8), Threads: 256},
			append(append(args, sources...), cuda.Int(g.Sources), cuda.Int(g.Tokens), cuda.Int(g.Width))...)
	})
	if err != nil {
		return err
	}
	return g.call.Launch("depth_coefficients", perToken(g.Tokens), g.c.Arg(), g.own.Arg(), g.da.Arg(), g.weights.Arg(), g.rstd.Arg(),
		cuda.Int(g.Sources), cuda.Int(g.Tokens), cuda.Int(g.Width))
}

// parameters makes the gradients of query and gain, where they are wanted.
func (g deviceDepthGrad) parameters() error {

	chunk := max(8, cuda.CeilDiv(g.Tokens, depthBlocks))
	blocks := cuda.CeilDiv(g.Tokens, chunk)
	partial, err := g.call.Scratch(cuda.F32, (blocks+1)*g.Width) // [blocks, width], dq
	if err != nil {
		return err
	}
	err = g.groups(func(first int, sources []cuda.Arg) error {
		args := []cuda.Arg{partial.Arg(), from(g.c, first)}
		return g.call.Launch("depth_query"+g.suffix(), cuda.Grid{X: blocks, Y: cuda.CeilDiv(g.Width, 256), Threads: 256}, append(append(args, sources...),
			cuda.Int(g.Sources), cuda.Int(g.Tokens), cuda.Int(g.Width), cuda.Int(chunk), cuda.Bool(first == 0))...)
	})
	if err != nil {
		return err
	}
	dq := partial.Slice(blocks*g.Width, g.Width)
	if err := g.call.Totals(dq, partial, cuda.Array{}, blocks, g.Width, false); err != nil {
		return err
	}
	for i, by := range []cuda.Array{g.gain, g.query} {
		to, accumulate, err := g.call.SecondaryOut(g.Sources - 1 + i)
		if err != nil {
			return err
		}
		if to.None() {
			continue
		}
		if err := g.call.Launch("depth_parameters", cuda.Over(g.Width, 256), to.Arg(), dq.Arg(), by.Arg(), cuda.Int(g.Width), cuda.Bool(accumulate)); err != nil {
			return err
		}
	}
	return nil
}

// gradients makes those of the sources, where they are wanted.
func (k depthGrad) gradients(g deviceDepthGrad) error {

	for i, v := range g.v {
		result := graph.SecondaryResult{Array: g.call.Out(), Deliver: func() error { return nil }}
		if i > 0 {
			var err error
			if result, err = g.call.SecondaryAs(i-1, v.Type); err != nil {
				return err
			}
		}
		if result.Array.None() {
			continue
		}
		var addend cuda.Array
		if k.addends[i] > 0 {
			var err error
			if addend, err = g.call.InAs(k.addends[i], v.Type); err != nil {
				return err
			}
		}
		err := g.call.Launch("depth_source"+g.suffix(), cuda.QuadRows(g.Tokens, g.Width), result.Array.Arg(), addend.Arg(), g.du.Arg(), v.Arg(),
			g.query.Arg(), g.gain.Arg(), from(g.weights, i), from(g.c, i), from(g.own, i), cuda.Int(g.Sources), cuda.Int(g.Tokens), cuda.Int(g.Width))
		if err != nil {
			return err
		}
		if err := result.Deliver(); err != nil {
			return err
		}
	}
	return nil
}
