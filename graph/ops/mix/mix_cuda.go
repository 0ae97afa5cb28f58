package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

const (
	mixWarps  = 8   // a block of the kernels of small streams, each of which takes a token at a time
	mixBlocks = 512 // the most that share the gradient of one C for all tokens
)

// deviceMix is a stream's mixing on a device.
type deviceMix struct {
	*graph.DeviceCall
	kernel.MixParams
	t cuda.Type // of the stream
}

func (k mixing) onDevice(c *graph.DeviceCall, h, coefficients graph.Signature) *deviceMix {
	return &deviceMix{c, k.params(h, coefficients), c.Out().Type}
}

// small is the number of rows in the name of the kernels for this stream, 4 or 8, or
// empty: they keep all in registers, four columns at a time.
func (d *deviceMix) small() string {
	switch {
	case d.N > 8 || d.M > 2 || d.D%4 != 0:
		return ""
	case d.N > 4:
		return "8"
	}
	return "4"
}

// name is a kernel's, for the stream's type.
func (d *deviceMix) name(kernel string) string { return kernel + "_" + d.t.String() }

// sizes are the last arguments of the kernels of small streams.
func (d *deviceMix) sizes(args ...cuda.Arg) []cuda.Arg {
	return append(args, cuda.Long(d.Tokens), cuda.Int(d.N), cuda.Int(d.M), cuda.Int(d.D), cuda.Bool(d.Shared))
}

// inputs returns the inputs as kernels want them: coefficients as floats, the rest in
// the stream's type.
func (d *deviceMix) inputs(coefficients int) ([]cuda.Array, error) {
	arrays := make([]cuda.Array, len(d.Inputs()))
	for i := range arrays {
		t := d.t
		if i == coefficients {
			t = cuda.F32
		}
		var err error
		if arrays[i], err = d.InAs(i, t); err != nil {
			return nil, err
		}
	}
	return arrays, nil
}

// forwardGrid has a warp for each 128 columns of a token.
func (d *deviceMix) forwardGrid() cuda.Grid {
	return cuda.Grid{X: (d.Tokens + mixWarps - 1) / mixWarps, Y: (d.D + 127) / 128, Threads: 32 * mixWarps}
}

// backwardGrid has a warp for each token or, where C is shared, for at least four.
func (d *deviceMix) backwardGrid() cuda.Grid {
	tokens := mixWarps
	if d.Shared {
		tokens = max(4*mixWarps, (d.Tokens+mixBlocks-1)/mixBlocks)
	}
	return cuda.Grid{X: (d.Tokens + tokens - 1) / tokens, Threads: 32 * mixWarps}
}

// mixGradients are the gradient of C and what is added to it.
type mixGradients struct {
	dc, addend cuda.Array // dc zero: not wanted
	accumulate bool
}

// gradients returns that of C, secondary number i; its addend is the given input.
func (d *deviceMix) gradients(i, addend int) (g mixGradients, err error) {
	if g.dc, g.accumulate, err = d.SecondaryOut(i); err != nil {
		return g, err
	}
	g.addend, err = d.InAs(addend, cuda.F32)
	return g, err
}

// sums runs a kernel that makes the gradient of C: of a shared one it makes each block's
// sum, which are then added. begun tells that the kernel adds to what is there.
func (d *deviceMix) sums(g mixGradients, blocks int, begun bool, run func(dc cuda.Array) error) error {
	if g.dc.None() || !d.Shared {
		if begun && !g.dc.None() {
			if err := d.begin(g); err != nil {
				return err
			}
		}
		return run(g.dc)
	}
	partial, err := d.Scratch(cuda.F32, blocks*g.dc.N) // [blocks, n, 2m+n]
	if err != nil {
		return err
	}
	if begun {
		if err := d.Device().Zero(partial); err != nil {
			return err
		}
	}
	if err := run(partial); err != nil {
		return err
	}
	return d.Totals(g.dc, partial, g.addend, blocks, g.dc.N, g.accumulate)
}

// begin sets dc to what its sums are added to.
func (d *deviceMix) begin(g mixGradients) error {
	return d.Launch("mix_begin", cuda.Over(g.dc.N, 256), g.dc.Arg(), g.addend.Arg(), cuda.Bool(g.accumulate), cuda.Long(g.dc.N))
}

func (k mixRead) Launch(c *graph.DeviceCall) error {
	d := k.onDevice(c, c.Signature(0), c.Signature(1))
	in, err := d.inputs(1)
	if err != nil {
		return err
	}
	u, h, coefficients := c.Out(), in[0], in[1]
	name := "mix_read4"
	switch {
	case d.M > 4 || d.D%4 != 0:
		return d.combine(u, cuda.Array{}, d.M, false, d.down(coefficients, h).transposed())
	case d.M == 1:
		name = "mix_read1"
	}
	return c.Launch(d.name(name), d.forwardGrid(), d.sizes(u.Arg(), h.Arg(), coefficients.Arg())...)
}

func (k mixReadGrad) Launch(c *graph.DeviceCall) error {
	d := k.of.onDevice(c, c.Signature(1), c.Signature(2))
	in, err := d.inputs(2)
	if err != nil {
		return err
	}
	g, err := d.gradients(0, k.addends.c)
	if err != nil {
		return err
	}
	dh, du, h, coefficients, addend := c.Out(), in[0], in[1], in[2], optionalArray(in, k.addends.h)
	if d.small() == "" {
		return d.readGradTiled(g, dh, du, h, coefficients, addend)
	}
	grid := d.backwardGrid()
	return d.sums(g, grid.X, false, func(dc cuda.Array) error {
		return c.Launch(d.name("mix_read_grad"+d.small()), grid, d.sizes(dh.Arg(), dc.Arg(), du.Arg(), h.Arg(),
			coefficients.Arg(), addend.Arg(), g.addend.Arg(), cuda.Bool(g.accumulate))...)
	})
}

// readGradTiled is mixReadGrad of a stream of any sizes.
func (d *deviceMix) readGradTiled(g mixGradients, dh, du, h, coefficients, addend cuda.Array) error {
	err := d.dots(g, dotProducts{h, du, d.N, d.M, 0})
	if err != nil {
		return err
	}
	return d.combine(dh, addend, d.N, false, d.down(coefficients, du))
}

// optionalArray is array number i, the zero Array for none.
func optionalArray(arrays []cuda.Array, i int) cuda.Array {
	if i < 0 {
		return cuda.Array{}
	}
	return arrays[i]
}
