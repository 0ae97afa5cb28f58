package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

func (gatedRead) Launch(c *graph.DeviceCall) error {
	r, err := openGates(c)
	if err != nil {
		return err
	}
	u := c.Out()
	return c.Launch("gated_read"+u.Suffix(), cuda.QuadRows(r.Tokens, r.D), u.Arg(), r.z.Arg(), r.gates.Arg(),
		cuda.Int(r.N), cuda.Int(r.Tokens), cuda.Int(r.D))
}

// deviceRead is a read on a device.
type deviceRead struct {
	kernel.GatedParams
	x, z, w       cuda.Array
	hidden, gates cuda.Array // h [tokens, rank] and a [tokens, n*d], in scratch memory
}

// openGates makes h and a of inputs 0 to 2, all in the output's type.
func openGates(c *graph.DeviceCall) (r deviceRead, err error) {
	r.GatedParams = readParams(c)
	in, err := c.InAll(c.Out().Type, 0, 1)
	if err != nil {
		return r, err
	}
	r.x, r.z = in[0], in[1]
	if r.w, err = c.Operand(2); err != nil {
		return r, err
	}
	if r.w.Type != r.x.Type {
		if r.w, err = c.Converted(r.w, r.x.Type); err != nil {
			return r, err
		}
	}
	size := r.N * r.D
	if r.hidden, err = c.Scratch(r.x.Type, r.Tokens*r.Rank); err != nil {
		return r, err
	}
	if r.gates, err = c.Scratch(r.x.Type, r.Tokens*size); err != nil {
		return r, err
	}
	err = c.Launch("gated_hidden"+r.x.Suffix(), cuda.QuadRows(r.Tokens, r.Rank), r.hidden.Arg(), r.x.Arg(),
		cuda.Int(r.N), cuda.Int(r.Tokens), cuda.Int(r.Rank), cuda.Int(r.Width))
	if err != nil {
		return r, err
	}
	return r, c.Gemm(cuda.Gemm{M: r.Tokens, N: size, K: r.Rank, Alpha: 1, A: r.hidden, LDA: r.Rank, B: r.w, LDB: size, C: r.gates, LDC: size})
}

// Launch makes da in the place of a.
func (k gatedReadGrad) Launch(c *graph.DeviceCall) error {
	r, err := openGates(c)
	if err != nil {
		return err
	}
	dx := c.Out()
	in, err := c.InAll(dx.Type, 3, 4)
	if err != nil {
		return err
	}
	dz, err := c.SecondaryAs(0, dx.Type)
	if err != nil {
		return err
	}
	err = c.Launch("gated_read_grad"+dx.Suffix(), cuda.QuadRows(r.Tokens*r.N, r.D), r.gates.Arg(), dz.Array.Arg(), in[0].Arg(), r.z.Arg(), r.gates.Arg(),
		cuda.Bool(dz.Accumulate), cuda.Int(r.N), cuda.Int(r.Tokens), cuda.Int(r.D))
	if err != nil {
		return err
	}
	if err := dz.Deliver(); err != nil {
		return err
	}
	if err := r.gradW(c); err != nil {
		return err
	}
	return r.gradX(c, dx, in[1])
}

// gradW makes dw = h^T da.
func (r *deviceRead) gradW(c *graph.DeviceCall) error {
	dw, accumulate, err := c.SecondaryOut(1)
	if err != nil || dw.None() {
		return err
	}
	size := r.N * r.D
	product := cuda.Gemm{TransA: true, M: r.Rank, N: size, K: r.Tokens, Alpha: 1, A: r.hidden, LDA: r.Rank, B: r.gates, LDB: size, C: dw, LDC: size}
	if accumulate {
		product.Beta = 1
	}
	return c.Gemm(product)
}

// gradX makes dx of dh = da w^T, which takes h's place.
func (r *deviceRead) gradX(c *graph.DeviceCall, dx, addend cuda.Array) error {
	size := r.N * r.D
	err := c.Gemm(cuda.Gemm{TransB: true, M: r.Tokens, N: r.Rank, K: size, Alpha: 1, A: r.gates, LDA: size, B: r.w, LDB: size, C: r.hidden, LDC: r.Rank})
	if err != nil {
		return err
	}
	return c.Launch("gated_hidden_grad"+dx.Suffix(), cuda.QuadRows(r.Tokens, r.Width), dx.Arg(), r.hidden.Arg(), r.x.Arg(), addend.Arg(),
		cuda.Int(r.N), cuda.Int(r.Tokens), cuda.Int(r.Rank), cuda.Int(r.Width))
}

func (gatedWrite) Launch(c *graph.DeviceCall) error {
	out, p := c.Out(), gatedParams(c.Signature(0), c.Signature(2))
	in, err := c.InAll(out.Type, 0, 1, 2)
	if err != nil {
		return err
	}
	return c.Launch("gated_write"+out.Suffix(), cuda.QuadRows(p.Tokens*p.N, p.D), out.Arg(), in[0].Arg(), in[1].Arg(), in[2].Arg(),
		cuda.Int(p.N), cuda.Int(p.Tokens), cuda.Int(p.D), cuda.Int(p.Width))
}

func (gatedWriteGrad) Launch(c *graph.DeviceCall) error {
	dy, p := c.Out(), gatedParams(c.Signature(0), c.Signature(2))
	in, err := c.InAll(dy.Type, 0, 1, 2)
	if err != nil {
		return err
	}
	dx, err := c.SecondaryAs(0, dy.Type)
	if err != nil {
		return err
	}
	err = c.Launch("gated_write_grad"+dy.Suffix(), cuda.Grid{X: cuda.CeilDiv(p.Tokens, 8), Threads: 256}, dy.Arg(), dx.Array.Arg(), in[0].Arg(), in[1].Arg(), in[2].Arg(),
		cuda.Bool(dx.Accumulate), cuda.Int(p.N), cuda.Int(p.Tokens), cuda.Int(p.D), cuda.Int(p.Width))
	if err != nil {
		return err
	}
	return dx.Deliver()
}
