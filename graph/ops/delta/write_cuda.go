package delta

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// sizes are the last arguments of the kernels of a write.
func sizes(p kernel.DeltaWriteParams) []cuda.Arg {
	return []cuda.Arg{cuda.Float(p.Eps), cuda.Float(p.Scale), cuda.Int(p.Tokens), cuda.Int(p.N), cuda.Int(p.D)}
}

// gates are the gates and the values, inputs i and i+1, as arguments.
func gates(c *graph.DeviceCall, i int) ([]cuda.Arg, error) {
	in, err := c.InAll(cuda.F32, i, i+1)
	if err != nil {
		return nil, err
	}
	return []cuda.Arg{in[0].Arg(), in[1].Arg()}, nil
}

// Launch has a warp for each row of a token.
func (k write) Launch(c *graph.DeviceCall) error {
	out, p := c.Out(), k.params(c.Signature(0), c.Signature(3))
	in, err := c.InAll(out.Type, 0, 1)
	if err != nil {
		return err
	}
	args, err := gates(c, 2)
	if err != nil {
		return err
	}
	args = append([]cuda.Arg{out.Arg(), in[0].Arg(), in[1].Arg()}, args...)
	return c.Launch("delta_write"+out.Suffix(), cuda.Over(32*p.Tokens*p.N, 256), append(args, sizes(p)...)...)
}

// maxRows is the most rows of a stream on a device: a warp's threads.
const maxRows = 32

// Launch has a warp for each token.
func (k writeGrad) Launch(c *graph.DeviceCall) error {
	dx, p := c.Out(), k.of.params(c.Signature(1), c.Signature(4))
	if p.N > maxRows {
		return errors.Errorf("want at most %d rows on a device, got %d", maxRows, p.N)
	}
	in, err := c.InAll(dx.Type, 0, 1, 2)
	if err != nil {
		return err
	}
	args := []cuda.Arg{in[0].Arg(), in[1].Arg(), in[2].Arg()}
	more, err := gates(c, 3)
	if err != nil {
		return err
	}
	args = append(append(args, more...), sizes(p)...)
	results, add := []cuda.Arg{dx.Arg()}, 0
	var deliver []func() error
	for i, t := range []cuda.Type{dx.Type, cuda.F32, cuda.F32} { // dy, dgate, dvalues
		r, err := c.SecondaryAs(i, t)
		if err != nil {
			return err
		}
		if r.Accumulate {
			add |= 1 << i
		}
		results, deliver = append(results, r.Array.Arg()), append(deliver, r.Deliver)
	}
	if err := c.Launch("delta_write_grad"+dx.Suffix(), cuda.Over(32*p.Tokens, 256), append(append(results, args...), cuda.Int(add))...); err != nil {
		return err
	}
	for _, f := range deliver {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
