package linear

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch runs the op on a device.
func (k Product) Launch(c *graph.DeviceCall) { c.Gemm(k.product(c)) }

// Fuses tells whether next is the sum of a residual stream, which alone reads this product. A
// Primitive that embeds a Product does not fuse.
func (Product) Fuses(next graph.Next) bool {
	_, plain := next.Of.(Product)
	return plain && next.Alone && graph.IsAdd(next.Primitive)
}

// LaunchWith computes the product and adds the other term of a sum of two, so that the product
// itself is not written.
func (k Product) LaunchWith(c, next *graph.DeviceCall) bool {
	terms, sum := next.Inputs(), next.Out()
	if len(terms) != 2 || next.Accumulate() || sum.Type != c.Out().Type {
		return false
	}
	product := k.product(c)
	product.C, product.Addend = sum, terms[0]
	if next.Reads(0, c) {
		product.Addend = terms[1]
	}
	if product.Addend.Type != sum.Type {
		return false
	}
	c.Gemm(product)
	return true
}

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
	product := k.of.productGradX(c)
	product.Addend = c.InAs(2, c.Out().Type)
	c.Gemm(product)
}

// productGradX returns the product scale * dy W^T, [tokens, ..., inputs].
func (k Product) productGradX(c *graph.DeviceCall) cuda.Gemm {
	dy, w := c.Operands()
	inputs, outputs := k.Sides(c.Signature(1))
	return cuda.Gemm{
		TransB: !k.Transposed, M: c.Signature(0).Size() / outputs, N: inputs, K: outputs, Alpha: k.Scale,
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
