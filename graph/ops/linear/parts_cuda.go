package linear

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch starts one product for each part.
func (k parts) Launch(c *graph.DeviceCall) {
	x, w := c.Operands()
	y, inputs, outputs := c.Out(), c.Signature(1).Leading(), c.Signature(1).Width()
	k.launchEach(c, func(i, from, width int) cuda.Gemm {
		return cuda.Gemm{M: c.Signature(0).Leading(), N: width, K: inputs, Alpha: 1,
			A: after(x, i*inputs), LDA: c.Signature(0).Width(), B: after(w, from), LDB: outputs, C: after(y, from), LDC: outputs}
	})
}

func (k partsGradX) Launch(c *graph.DeviceCall) {
	dy, w := c.Operands()
	dx, inputs, outputs := c.Out(), c.Signature(1).Leading(), c.Signature(1).Width()
	k.of.launchEach(c, func(i, from, width int) cuda.Gemm {
		return cuda.Gemm{TransB: true, M: c.Result().Leading(), N: inputs, K: width, Alpha: 1,
			A: after(dy, from), LDA: outputs, B: after(w, from), LDB: outputs, C: after(dx, i*inputs), LDC: c.Result().Width()}
	})
}

func (k partsGradW) Launch(c *graph.DeviceCall) {
	x, dy := c.Operands()
	dw, inputs, outputs, beta := c.Out(), c.Result().Leading(), c.Result().Width(), 0.0
	if c.Accumulate() {
		beta = 1
	}
	k.of.launchEach(c, func(i, from, width int) cuda.Gemm {
		return cuda.Gemm{TransA: true, M: inputs, N: width, K: c.Signature(0).Leading(), Alpha: 1, Beta: beta,
			A: after(x, i*inputs), LDA: c.Signature(0).Width(), B: after(dy, from), LDB: outputs, C: after(dw, from), LDC: outputs}
	})
}

// launchEach starts the given product of each part.
func (k parts) launchEach(c *graph.DeviceCall, product func(i, from, width int) cuda.Gemm) {
	k.each(func(i, from, width int) { c.Gemm(product(i, from, width)) })
}

// after returns the rest of a from element number from on.
func after(a cuda.Array, from int) cuda.Array { return a.Slice(from, a.N-from) }
