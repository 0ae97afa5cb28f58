//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

// launch cannot tell the host of an id outside the vocabulary: its row becomes NaN.
func (k embedding) launch(c *deviceCall) error {
	table, err := c.inAs(0, cuda.F32)
	if err != nil {
		return err
	}
	y, vocab, tokens, width := c.out(), c.op.in[0].leading(), c.op.out.leading(), c.op.out.width()
	return c.launch("gather"+y.Suffix(), cuda.QuadRows(tokens, width),
		y.Arg(), table.Arg(), c.in(1).Arg(), cuda.Float(k.scale), cuda.Int(tokens), cuda.Int(vocab), cuda.Int(width))
}

func (k embeddingGrad) launch(c *deviceCall) error {
	dtable, ids, dy := c.out(), c.in(0), c.in(1)
	vocab, width := k.table.leading(), k.table.width()
	if !c.accumulate() {
		if err := c.dev.Zero(dtable); err != nil {
			return err
		}
	}
	order, err := c.scratch(cuda.I32, ids.N)
	if err != nil {
		return err
	}
	sorted, err := c.scratch(cuda.I32, ids.N)
	if err != nil {
		return err
	}
	err = c.launch("order_tokens", cuda.Grid{X: (ids.N + 31) / 32, Threads: 256}, order.Arg(), sorted.Arg(), ids.Arg(), cuda.Int(ids.N))
	if err != nil {
		return err
	}
	return c.launch("gather_grad"+dy.Suffix(), cuda.Grid{X: ids.N, Y: (width + 511) / 512, Threads: 256},
		dtable.Arg(), dy.Arg(), order.Arg(), sorted.Arg(), cuda.Float(k.scale), cuda.Int(ids.N), cuda.Int(vocab), cuda.Int(width))
}
