package embedding

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch cannot report an id outside the vocabulary to the host: its row becomes NaN.
func (k embedding) Launch(c *graph.DeviceCall) {
	table := c.InAs(0, cuda.F32)
	y, vocab, tokens, width := c.Out(), c.Signature(0).Leading(), c.Result().Leading(), c.Result().Width()
	c.Launch("gather"+y.Suffix(), cuda.QuadRows(tokens, width),
		y, table.Touching(y.N*table.Type.Size()), c.In(1), cuda.Float(k.scale), cuda.Ints(tokens, vocab, width))
}

func (k embeddingGrad) Launch(c *graph.DeviceCall) {
	dtable, ids, dy := c.Out(), c.In(0), c.In(1)
	vocab, width := k.table.Leading(), k.table.Width()
	if !c.Accumulate() {
		c.Zero(dtable)
	}
	order := c.Scratch(cuda.I32, ids.N)
	sorted := c.Scratch(cuda.I32, ids.N)
	c.Launch("order_tokens", cuda.Grid{X: (ids.N + 31) / 32, Threads: 256}, order, sorted, ids, cuda.Int(ids.N))
	c.Launch("gather_grad"+dy.Suffix(), cuda.Grid{X: ids.N, Y: (width + 511) / 512, Threads: 256},
		dtable.Touching(2*dy.N*dtable.Type.Size()), dy, order, sorted, cuda.Float(k.scale), cuda.Ints(ids.N, vocab, width))
}
