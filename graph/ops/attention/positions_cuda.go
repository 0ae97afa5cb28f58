package attention

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch knows of no cache: with one, the op runs on the host.
func (positions) Launch(c *graph.DeviceCall) error {
	y := c.Out()
	return c.Launch("positions", cuda.Over(y.N, 256), y.Arg(), cuda.Int(c.Signature(0).Shape[1]), cuda.Int(y.N))
}

// OnHost: the cache's rows are the host's.
func (k positions) OnHost() bool { return k.cache != nil }

// Launch knows of no cache, either.
func (k documentStarts) Launch(c *graph.DeviceCall) error {
	rows, seq := c.Signature(0).Shape[0], c.Signature(0).Shape[1]
	return c.Launch("document_starts", cuda.Over(rows*32, 256),
		c.Out().Arg(), c.In(0).Arg(), cuda.Int(int(k.bos)), cuda.Int(seq), cuda.Int(rows))
}

// OnHost: likewise.
func (k documentStarts) OnHost() bool { return k.cache != nil }
