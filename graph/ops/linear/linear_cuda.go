package linear

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch runs the op on a device.
func (k Product) Launch(c *graph.DeviceCall) { c.Gemm(k.product(c)) }

// product returns the product scale * x W, [tokens, ..., outputs].
func (k Product) product(c *graph.DeviceCall) cuda.Gemm {
	x, w := c.Operands()
	inputs, outputs := k.Sides(c.Signature(1))
	return cuda.Gemm{
		TransB: k.Transposed, M: c.Signature(0).Size() / inputs, N: outputs, K: inputs, Alpha: k.Scale,
		A: x, LDA: inputs, B: w, LDB: c.Signature(1).Width(), C: c.Out(), LDC: outputs,
	}
}

func (k linearGradX) Launch(c *graph.DeviceCall) {
	beta := 0.0
	if addend := c.In(2); !addend.None() {
		c.CopyTo(c.Out(), addend)
		beta = 1
	}
	c.Gemm(k.of.productGradX(c, beta))
}

// productGradX returns the product scale * dy W^T + beta * output, [tokens, ..., inputs].
func (k Product) productGradX(c *graph.DeviceCall, beta float64) cuda.Gemm {
	dy, w := c.Operands()
	inputs, outputs := k.Sides(c.Signature(1))
	return cuda.Gemm{
		TransB: !k.Transposed, M: c.Signature(0).Size() / outputs, N: inputs, K: outputs, Alpha: k.Scale, Beta: beta,
		A: dy, LDA: outputs, B: w, LDB: c.Signature(1).Width(), C: c.Out(), LDC: inputs,
	}
}

func (k linearGradW) Launch(c *graph.DeviceCall) {
	left, right := c.Operands() // x [tokens, inputs], dy [tokens, outputs]
	rows, columns := k.of.Sides(c.Result())
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
	c.Gemm(product)
}
