package graph

import "github.com/residua-go/residua/graph/cuda"

// Launch copies the weight and adds one product for each adapter.
func (k adapt) Launch(c *DeviceCall) {
	in, out := c.Signature(0).Leading(), c.Signature(0).Width()
	c.CopyTo(c.Out(), c.In(0))
	for i, a := range k.adapters {
		c.Gemm(cuda.Gemm{M: in, N: a.Width, K: a.Rank, Alpha: a.Scale, Beta: 1, A: c.In(1 + 2*i), LDA: a.Rank, B: c.In(2 + 2*i), LDB: a.Width,
			C: a.columns(c.Out()), LDC: out})
	}
}

func (k adaptGradA) Launch(c *DeviceCall) {
	a, in, out := k.of, c.Signature(0).Leading(), c.Signature(0).Width()
	c.Gemm(cuda.Gemm{TransB: true, M: in, N: a.Rank, K: a.Width, Alpha: a.Scale, Beta: kept[float64](c.Accumulate()),
		A: a.columns(c.InAs(0, cuda.F32)), LDA: out, B: c.In(1), LDB: a.Width, C: c.Out(), LDC: a.Rank})
}

func (k adaptGradB) Launch(c *DeviceCall) {
	a, in, out := k.of, c.Signature(0).Leading(), c.Signature(0).Width()
	c.Gemm(cuda.Gemm{TransA: true, M: a.Rank, N: a.Width, K: in, Alpha: a.Scale, Beta: kept[float64](c.Accumulate()),
		A: c.In(1), LDA: a.Rank, B: a.columns(c.InAs(0, cuda.F32)), LDB: out, C: c.Out(), LDC: a.Width})
}

// columns returns a weight from the adapter's first column on.
func (a Adapter) columns(w cuda.Array) cuda.Array { return w.Slice(a.From, w.N-a.From) }
