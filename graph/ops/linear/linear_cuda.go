package linear

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch computes it on a device.
func (k Product) Launch(c *graph.DeviceCall) error {
	x, w, err := c.Operands(0, 1)
	if err != nil {
		return err
	}
	inputs, outputs := k.Sides(c.Signature(1))
	return c.Gemm(cuda.Gemm{
		TransB: k.Transposed, M: c.Signature(0).Size() / inputs, N: outputs, K: inputs, Alpha: k.Scale,
		A: x, LDA: inputs, B: w, LDB: c.Signature(1).Width(), C: c.Out(), LDC: outputs,
	})
}

func (k linearGradX) Launch(c *graph.DeviceCall) error {
	addend := c.In(2)
	if addend.None() {
		return k.of.productGradX(c, 0)
	}
	if err := c.CopyTo(c.Out(), addend); err != nil {
		return err
	}
	return k.of.productGradX(c, 1)
}

// productGradX sets the output to scale * dy W^T + beta * output, [tokens, ..., inputs].
func (k Product) productGradX(c *graph.DeviceCall, beta float64) error {
	dy, w, err := c.Operands(0, 1)
	if err != nil {
		return err
	}
	inputs, outputs := k.Sides(c.Signature(1))
	return c.Gemm(cuda.Gemm{
		TransB: !k.Transposed, M: c.Signature(0).Size() / outputs, N: inputs, K: outputs, Alpha: k.Scale, Beta: beta,
		A: dy, LDA: outputs, B: w, LDB: c.Signature(1).Width(), C: c.Out(), LDC: inputs,
	})
}

func (k linearGradW) Launch(c *graph.DeviceCall) error {
	left, right, err := c.Operands(0, 1) // x [tokens, inputs], dy [tokens, outputs]
	if err != nil {
		return err
	}
	rows, columns := k.of.Sides(k.w)
	products := c.Signature(0).Size() / rows
	if k.of.Transposed {
		left, right, rows, columns = right, left, columns, rows
	}
	product := cuda.Gemm{
		TransA: true, M: rows, N: columns, K: products, Alpha: k.of.Scale,
		A: left, LDA: rows, B: right, LDB: columns, C: c.Out(), LDC: columns,
	}
	if c.Accumulate() {
		product.Beta = 1
	}
	return c.Gemm(product)
}
