//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (k linear) launch(c *deviceCall) error {
	x, w, err := c.operands(0, 1)
	if err != nil {
		return err
	}
	inputs, outputs := k.inOut(c.op.in[1])
	return c.gemm(cuda.Gemm{
		TransB: k.transposed, M: c.op.in[0].leading(), N: outputs, K: inputs, Alpha: k.scale,
		A: x, LDA: inputs, B: w, LDB: c.op.in[1].width(), C: c.out(), LDC: outputs,
	})
}

func (k linearGradX) launch(c *deviceCall) error { return k.productGradX(c, k.x.leading()) }

// productGradX sets the output to scale * dy W^T, [tokens, inputs].
func (k linear) productGradX(c *deviceCall, tokens int) error {
	dy, w, err := c.operands(0, 1)
	if err != nil {
		return err
	}
	inputs, outputs := k.inOut(c.op.in[1])
	return c.gemm(cuda.Gemm{
		TransB: !k.transposed, M: tokens, N: inputs, K: outputs, Alpha: k.scale,
		A: dy, LDA: outputs, B: w, LDB: c.op.in[1].width(), C: c.out(), LDC: inputs,
	})
}

func (k linearGradW) launch(c *deviceCall) error {
	left, right, err := c.operands(0, 1) // x [tokens, inputs], dy [tokens, outputs]
	if err != nil {
		return err
	}
	rows, columns := k.inOut(k.w)
	if k.transposed {
		left, right, rows, columns = right, left, columns, rows
	}
	product := cuda.Gemm{
		TransA: true, M: rows, N: columns, K: c.op.in[0].leading(), Alpha: k.scale,
		A: left, LDA: rows, B: right, LDB: columns, C: c.out(), LDC: columns,
	}
	if c.accumulate() {
		product.Beta = 1
	}
	return c.gemm(product)
}
