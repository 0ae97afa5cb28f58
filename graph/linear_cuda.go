//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (k linear) Launch(c *DeviceCall) error {
	x, w, err := c.operands(0, 1)
	if err != nil {
		return err
	}
	inputs, outputs := k.inOut(c.Signature(1))
	return c.Gemm(cuda.Gemm{
		TransB: k.transposed, M: c.Signature(0).Leading(), N: outputs, K: inputs, Alpha: k.scale,
		A: x, LDA: inputs, B: w, LDB: c.Signature(1).Width(), C: c.Out(), LDC: outputs,
	})
}

func (k linearGradX) Launch(c *DeviceCall) error { return k.of.productGradX(c, k.x.Leading()) }

// productGradX sets the output to scale * dy W^T, [tokens, inputs].
func (k linear) productGradX(c *DeviceCall, tokens int) error {
	dy, w, err := c.operands(0, 1)
	if err != nil {
		return err
	}
	inputs, outputs := k.inOut(c.Signature(1))
	return c.Gemm(cuda.Gemm{
		TransB: !k.transposed, M: tokens, N: inputs, K: outputs, Alpha: k.scale,
		A: dy, LDA: outputs, B: w, LDB: c.Signature(1).Width(), C: c.Out(), LDC: inputs,
	})
}

func (k linearGradW) Launch(c *DeviceCall) error {
	left, right, err := c.operands(0, 1) // x [tokens, inputs], dy [tokens, outputs]
	if err != nil {
		return err
	}
	rows, columns := k.of.inOut(k.w)
	if k.of.transposed {
		left, right, rows, columns = right, left, columns, rows
	}
	product := cuda.Gemm{
		TransA: true, M: rows, N: columns, K: c.Signature(0).Leading(), Alpha: k.of.scale,
		A: left, LDA: rows, B: right, LDB: columns, C: c.Out(), LDC: columns,
	}
	if c.Accumulate() {
		product.Beta = 1
	}
	return c.Gemm(product)
}
