package elementwise

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

func (k dropout) Launch(c *graph.DeviceCall) {
	key := kernel.DropoutKey{Seed: k.seed, Site: k.site, Step: c.Step()}
	stream, threshold := key.Mask(k.rate)
	c.Elementwise("dropout", cuda.Unsigned(stream), cuda.Unsigned(threshold), cuda.Float(1/(1-k.rate)))
}
