package readwrite

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// mostProducts is the largest number of products in a cuBLAS batch, set by the limit of a launch's
// grid.
const mostProducts = 65535

// tokenProducts computes C_t = op(A_t) B_t + beta C_t for all tokens; g says whether B_t is
// transposed. It fills in the sizes and strides that g leaves out: all matrices are dense.
func tokenProducts(c *graph.DeviceCall, g cuda.Gemm, tokens int) {
	g.Alpha, g.StrideA, g.StrideB, g.StrideC = 1, g.M*g.K, g.K*g.N, g.M*g.N
	g.LDA, g.LDB, g.LDC = g.K, g.N, g.N
	if g.TransA {
		g.LDA = g.M
	}
	if g.TransB {
		g.LDB = g.K
	}
	a, b, out := g.A, g.B, g.C
	for first := 0; first < tokens; first += mostProducts {
		g.Batch = min(tokens-first, mostProducts)
		g.A = a.Slice(first*g.StrideA, g.Batch*g.StrideA)
		g.B = b.Slice(first*g.StrideB, g.Batch*g.StrideB)
		g.C = out.Slice(first*g.StrideC, g.Batch*g.StrideC)
		c.Gemm(g)
	}
}

func (readEach) Launch(c *graph.DeviceCall) {
	launchReadEach(c, tokenKeysSizes(c.Signature(0), c.Signature(1)))
}

func (writeEachGradY) Launch(c *graph.DeviceCall) {
	launchReadEach(c, tokenKeysSizes(c.Signature(0), c.Signature(1)))
}

// launchReadEach computes y_t = c_t^T X_t. Inputs: X and c.
func launchReadEach(c *graph.DeviceCall, p kernel.TokenKeysParams) {
	x, keys := c.Operands()
	tokenProducts(c, cuda.Gemm{TransA: true, M: p.M, N: p.Dv, K: p.Dk, A: keys, B: x, C: c.Out()}, p.Tokens)
}

func (k writeEach) Launch(c *graph.DeviceCall) {
	p := tokenKeysSizes(c.Result(), c.Signature(0))
	keys, y := c.Operands()
	product := cuda.Gemm{M: p.Dk, N: p.Dv, K: p.M, A: keys, B: y, C: c.Out()}
	if k.into {
		c.CopyTo(c.Out(), c.In(2))
		product.Beta = 1
	}
	tokenProducts(c, product, p.Tokens)
}

func (tokenKeysGrad) Launch(c *graph.DeviceCall) {
	p := tokenKeysSizes(c.Signature(0), c.Result())
	x, y := c.Operands()
	tokenProducts(c, cuda.Gemm{TransB: true, M: p.Dk, N: p.M, K: p.Dv, A: x, B: y, C: c.Out()}, p.Tokens)
}
