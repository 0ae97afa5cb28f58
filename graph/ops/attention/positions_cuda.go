package attention

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Launch works without a cache; with one, the op runs on the host.
func (positions) Launch(c *graph.DeviceCall) {
	y := c.Out()
	c.Launch("positions", cuda.Over(y.N, 256), y, cuda.Ints(c.Signature(0).Shape[1], y.N))
}

// OnHost returns true with a cache, whose rows the host keeps.
func (k positions) OnHost() bool { return k.cache != nil }

// Launch works without a cache and a separator.
func (k documentStarts) Launch(c *graph.DeviceCall) {
	rows, seq := c.Signature(0).Shape[0], c.Signature(0).Shape[1]
	c.Launch("document_starts", cuda.Over(rows*32, 256),
		c.Out(), c.In(0), cuda.Ints(int(k.bos), seq, rows))
}

// OnHost returns true with a cache, whose rows the host keeps, and with a separator.
func (k documentStarts) OnHost() bool { return k.cache != nil || k.separator > 0 }
