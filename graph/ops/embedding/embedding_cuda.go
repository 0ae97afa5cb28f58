package embedding

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch cannot tell the host of an id outside the vocabulary: its row becomes NaN.
func (k embedding) Launch(c *graph.DeviceCall) error {
	table, err := c.InAs(0, cuda.F32)
	if err != nil {
		return err
	}
	y, vocab, tokens, width := c.Out(), c.Signature(0).Leading(), c.Result().Leading(), c.Result().Width()
	return c.Launch("gather"+y.Suffix(), cuda.QuadRows(tokens, width),
		y.Arg(), table.Arg().Touching(y.N*table.Type.Size()), c.In(1).Arg(), cuda.Float(k.scale), cuda.Int(tokens), cuda.Int(vocab), cuda.Int(width))
}

func (k embeddingGrad) Launch(c *graph.DeviceCall) error {
	dtable, ids, dy := c.Out(), c.In(0), c.In(1)
	vocab, width := k.table.Leading(), k.table.Width()
	if !c.Accumulate() {
		if err := c.Device().Zero(dtable); err != nil {
			return err
		}
	}
	order, err := c.Scratch(cuda.I32, ids.N)
	if err != nil {
		return err
	}
	sorted, err := c.Scratch(cuda.I32, ids.N)
	if err != nil {
		return err
	}
	err = c.Launch("order_tokens", cuda.Grid{X: (ids.N + 31) / 32, Threads: 256}, order.Arg(), sorted.Arg(), ids.Arg(), cuda.Int(ids.N))
	if err != nil {
		return err
	}
	return c.Launch("gather_grad"+dy.Suffix(), cuda.Grid{X: ids.N, Y: (width + 511) / 512, Threads: 256},
		dtable.Arg().Touching(2*dy.N*dtable.Type.Size()), dy.Arg(), order.Arg(), sorted.Arg(), cuda.Float(k.scale), cuda.Int(ids.N), cuda.Int(vocab), cuda.Int(width))
}
