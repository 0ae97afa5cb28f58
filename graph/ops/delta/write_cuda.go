package delta

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// sizes returns the last arguments of the kernels of a write.
func sizes(p kernel.DeltaWriteParams) cuda.Args {
	return cuda.Args{cuda.Float(p.Eps), cuda.Float(p.Scale), cuda.Ints(p.Tokens, p.N, p.D)}
}

// gates returns the gates and the values, inputs i and i+1, as arguments.
func gates(c *graph.DeviceCall, i int) cuda.Args {
	in := c.InAll(cuda.F32, i, i+1)
	return cuda.Args{in[0], in[1]}
}

// Launch uses one warp for each row of a token.
func (k write) Launch(c *graph.DeviceCall) {
	out, p := c.Out(), k.params(c.Signature(0), c.Signature(3))
	in := c.InAll(out.Type, 0, 1)
	c.Launch("delta_write"+out.Suffix(), cuda.Over(32*p.Tokens*p.N, 256), out, in[0], in[1], gates(c, 2), sizes(p))
}

// maxRows is the largest number of rows of a stream on a device: the number of threads of a warp.
const maxRows = 32

// Launch uses one warp for each token.
func (k writeGrad) Launch(c *graph.DeviceCall) {
	dx, p := c.Out(), k.of.params(c.Signature(1), c.Signature(4))
	if p.N > maxRows {
		c.Fail(errors.Errorf("want at most %d rows on a device, got %d", maxRows, p.N))
		return
	}
	in, gatesAndValues := c.InAll(dx.Type, 0, 1, 2), gates(c, 3)
	results, add := []graph.SecondaryResult{c.SecondaryAs(0, dx.Type), c.SecondaryAs(1, cuda.F32), c.SecondaryAs(2, cuda.F32)}, 0 // dy, dgate, dvalues
	for i, r := range results {
		if r.Accumulate {
			add |= 1 << i
		}
	}
	c.Launch("delta_write_grad"+dx.Suffix(), cuda.Over(32*p.Tokens, 256), dx, results[0].Array, results[1].Array, results[2].Array,
		in[0], in[1], in[2], gatesAndValues, sizes(p), cuda.Int(add))
	for _, r := range results {
		r.Deliver()
	}
}
