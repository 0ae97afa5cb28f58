package mix

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

func (gatedRead) Launch(c *graph.DeviceCall) {
	r := openGates(c)
	u := c.Out()
	c.Launch("gated_read"+u.Suffix(), cuda.QuadRows(r.Tokens, r.D), u, r.z, r.gates,
		cuda.Ints(r.N, r.Tokens, r.D))
}

// deviceRead is a gated read on a device.
type deviceRead struct {
	kernel.GatedParams
	x, z, w       cuda.Array
	hidden, gates cuda.Array // h [tokens, rank] and a [tokens, n*d], in scratch memory
}

// openGates computes h and a from inputs 0 to 2, all in the output's type.
func openGates(c *graph.DeviceCall) (r deviceRead) {
	r.GatedParams = readParams(c)
	in := c.InAll(c.Out().Type, 0, 1)
	r.x, r.z = in[0], in[1]
	r.w = c.Operand(2)
	if r.w.Type != r.x.Type {
		r.w = c.Converted(r.w, r.x.Type)
	}
	size := r.N * r.D
	r.hidden = c.Scratch(r.x.Type, r.Tokens*r.Rank)
	r.gates = c.Scratch(r.x.Type, r.Tokens*size)
	c.Launch("gated_hidden"+r.x.Suffix(), cuda.QuadRows(r.Tokens, r.Rank), r.hidden, r.x,
		cuda.Ints(r.N, r.Tokens, r.Rank, r.Width))
	c.Gemm(cuda.Gemm{M: r.Tokens, N: size, K: r.Rank, Alpha: 1, A: r.hidden, LDA: r.Rank, B: r.w, LDB: size, C: r.gates, LDC: size})
	return r
}

// Launch computes da, overwriting a.
func (k gatedReadGrad) Launch(c *graph.DeviceCall) {
	r := openGates(c)
	dx := c.Out()
	in := c.InAll(dx.Type, 3, 4)
	dz := c.SecondaryAs(0, dx.Type)
	c.Launch("gated_read_grad"+dx.Suffix(), cuda.QuadRows(r.Tokens*r.N, r.D), r.gates, dz.Array, in[0], r.z, r.gates,
		cuda.Bool(dz.Accumulate), cuda.Ints(r.N, r.Tokens, r.D))
	dz.Deliver()
	r.gradW(c)
	r.gradX(c, dx, in[1])
}

// gradW computes dw = h^T da.
func (r *deviceRead) gradW(c *graph.DeviceCall) {
	dw, accumulate := c.SecondaryOut(1)
	if dw.None() {
		return
	}
	size := r.N * r.D
	product := cuda.Gemm{TransA: true, M: r.Rank, N: size, K: r.Tokens, Alpha: 1, A: r.hidden, LDA: r.Rank, B: r.gates, LDB: size, C: dw, LDC: size}
	if accumulate {
		product.Beta = 1
	}
	c.Gemm(product)
}

// gradX computes dx from dh = da w^T, which overwrites h.
func (r *deviceRead) gradX(c *graph.DeviceCall, dx, addend cuda.Array) {
	size := r.N * r.D
	c.Gemm(cuda.Gemm{TransB: true, M: r.Tokens, N: r.Rank, K: size, Alpha: 1, A: r.gates, LDA: size, B: r.w, LDB: size, C: r.hidden, LDC: r.Rank})
	c.Launch("gated_hidden_grad"+dx.Suffix(), cuda.QuadRows(r.Tokens, r.Width), dx, r.hidden, r.x, addend,
		cuda.Ints(r.N, r.Tokens, r.Rank, r.Width))
}

func (gatedWrite) Launch(c *graph.DeviceCall) {
	out, p := c.Out(), gatedParams(c.Signature(0), c.Signature(2))
	in := c.InAll(out.Type, 0, 1, 2)
	c.Launch("gated_write"+out.Suffix(), cuda.QuadRows(p.Tokens*p.N, p.D), out, in[0], in[1], in[2],
		cuda.Ints(p.N, p.Tokens, p.D, p.Width))
}

func (gatedWriteGrad) Launch(c *graph.DeviceCall) {
	dy, p := c.Out(), gatedParams(c.Signature(0), c.Signature(2))
	in := c.InAll(dy.Type, 0, 1, 2)
	dx := c.SecondaryAs(0, dy.Type)
	c.Launch("gated_write_grad"+dy.Suffix(), cuda.Grid{X: cuda.CeilDiv(p.Tokens, 8), Threads: 256}, dy, dx.Array, in[0], in[1], in[2],
		cuda.Bool(dx.Accumulate), cuda.Ints(p.N, p.Tokens, p.D, p.Width))
	dx.Deliver()
}
