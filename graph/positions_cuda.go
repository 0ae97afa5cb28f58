//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (k positions) launch(c *deviceCall) error {
	first, y := 0, c.out()
	if k.cache != nil {
		first = k.cache.length
	}
	return c.launch("positions", cuda.Over(y.N, 256), y.Arg(), cuda.Int(first), cuda.Int(c.op.in[0].Shape[1]), cuda.Int(y.N))
}

// launch knows of no cache: with one, the op runs on the host.
func (k documentStarts) launch(c *deviceCall) error {
	rows, seq := c.op.in[0].Shape[0], c.op.in[0].Shape[1]
	return c.launch("document_starts", cuda.Over(rows*32, 256),
		c.out().Arg(), c.in(0).Arg(), cuda.Int(int(k.bos)), cuda.Int(seq), cuda.Int(rows))
}

// onHost: the cache's rows are the host's.
func (k documentStarts) onHost() bool { return k.cache != nil }
