package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

const (
	mixWarps  = 8   // warps of a block in the kernels of small streams; each warp takes a token at a time
	mixBlocks = 512 // largest number of blocks that share the gradient of one C for all tokens
)

// deviceMix holds the sizes of a stream's mixing on a device.
type deviceMix struct {
	*graph.DeviceCall
	kernel.MixParams
	t cuda.Type // type of the stream
}

func (k mixing) onDevice(c *graph.DeviceCall, h, coefficients graph.Signature) *deviceMix {
	return &deviceMix{c, k.params(h, coefficients), c.Out().Type}
}

// small returns the number of rows in the names of the kernels for this stream, 4 or 8, or "" if
// there is no such kernel. Those kernels keep everything in registers, four columns at a time.
func (d *deviceMix) small() string {
	switch {
	case d.N > 8 || d.M > 2 || d.D%4 != 0:
		return ""
	case d.N > 4:
		return "8"
	}
	return "4"
}

// name returns a kernel's name for the stream's type.
func (d *deviceMix) name(kernel string) string { return kernel + "_" + d.t.String() }

// sizes returns the last arguments of the kernels of small streams.
func (d *deviceMix) sizes() cuda.Args {
	return cuda.Args{cuda.Long(d.Tokens), cuda.Ints(d.N, d.M, d.D), cuda.Bool(d.Shared), cuda.Int(d.Columns())}
}

// inputs returns the first n inputs as the kernels need them: coefficients as floats, the others in
// the stream's type.
func (d *deviceMix) inputs(n, coefficients int) []cuda.Array {
	arrays := make([]cuda.Array, n)
	for i := range arrays {
		t := d.t
		if i == coefficients {
			t = cuda.F32
		}
		arrays[i] = d.InAs(i, t)
	}
	return arrays
}

// forwardGrid uses one warp for each 128 columns of a token.
func (d *deviceMix) forwardGrid() cuda.Grid {
	return cuda.Grid{X: (d.Tokens + mixWarps - 1) / mixWarps, Y: (d.D + 127) / 128, Threads: 32 * mixWarps}
}

// backwardGrid uses one warp for each token or, with a shared C, one for at least four tokens.
func (d *deviceMix) backwardGrid() cuda.Grid {
	tokens := mixWarps
	if d.Shared {
		tokens = max(4*mixWarps, (d.Tokens+mixBlocks-1)/mixBlocks)
	}
	return cuda.Grid{X: (d.Tokens + tokens - 1) / tokens, Threads: 32 * mixWarps}
}

// mixGradients holds the gradient of C and what it is added to.
type mixGradients struct {
	dc, addend cuda.Array // dc is the zero Array if it is not wanted
	accumulate bool
}

// gradients returns the gradient of C, which is secondary number i; addend is the number of the
// input that it is added to.
func (d *deviceMix) gradients(i, addend int) (g mixGradients) {
	g.dc, g.accumulate = d.SecondaryOut(i)
	g.addend = d.InAs(addend, cuda.F32)
	return g
}

// sums runs a kernel that computes the gradient of C. For a shared C each block computes a partial
// sum, and these are added up. begun tells that the kernel adds to what is there.
func (d *deviceMix) sums(g mixGradients, blocks int, begun bool, run func(dc cuda.Array)) {
	if g.dc.None() || !d.Shared {
		if begun && !g.dc.None() {
			d.begin(g)
		}
		run(g.dc)
		return
	}
	partial := d.Scratch(cuda.F32, blocks*g.dc.N) // [blocks, n, 2m+n]
	if begun {
		d.Zero(partial)
	}
	run(partial)
	d.Totals(g.dc, partial, g.addend, blocks, g.dc.N, g.accumulate)
}

// begin sets dc to the value that its sums are added to.
func (d *deviceMix) begin(g mixGradients) {
	d.Launch("mix_begin", cuda.Over(g.dc.N, 256), g.dc, g.addend, cuda.Bool(g.accumulate), cuda.Long(g.dc.N))
}

func (k mixRead) Launch(c *graph.DeviceCall) {
	d := k.onDevice(c, c.Signature(0), c.Signature(1))
	in := d.inputs(2, 1)
	u, h, coefficients := c.Out(), in[0], in[1]
	name := "mix_read4"
	switch {
	case d.M > 4 || d.D%4 != 0:
		d.combine(u, cuda.Array{}, d.M, false, d.down(coefficients, h).transposed())
		return
	case d.M == 1:
		name = "mix_read1"
	}
	c.Launch(d.name(name), d.forwardGrid(), u, h, coefficients, d.sizes())
}

func (k mixReadGrad) Launch(c *graph.DeviceCall) {
	d := k.of.onDevice(c, c.Signature(1), c.Signature(2))
	in := d.inputs(len(c.Inputs()), 2)
	g := d.gradients(0, k.addends.c)
	dh, du, h, coefficients, addend := c.Out(), in[0], in[1], in[2], optionalArray(in, k.addends.h)
	if d.small() == "" {
		d.readGradTiled(g, dh, du, h, coefficients, addend)
		return
	}
	grid := d.backwardGrid()
	d.sums(g, grid.X, false, func(dc cuda.Array) {
		c.Launch(d.name("mix_read_grad"+d.small()), grid, dh, dc, du, h,
			coefficients, addend, g.addend, cuda.Bool(g.accumulate), d.sizes())
	})
}

// readGradTiled computes mixReadGrad for a stream of any size.
func (d *deviceMix) readGradTiled(g mixGradients, dh, du, h, coefficients, addend cuda.Array) {
	d.dots(g, dotProducts{h, du, d.N, d.M, 0})
	d.combine(dh, addend, d.N, false, d.down(coefficients, du))
}

// optionalArray returns array number i, the zero Array if i is -1.
func optionalArray(arrays []cuda.Array, i int) cuda.Array {
	if i < 0 {
		return cuda.Array{}
	}
	return arrays[i]
}
