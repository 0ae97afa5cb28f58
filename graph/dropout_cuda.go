//go:build cuda

package graph

import (
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

func (k dropout) launch(c *deviceCall) error {
	key := kernel.DropoutKey{Seed: k.seed, Site: k.site, Step: k.step.step}
	stream, threshold := key.Mask(k.rate)
	return c.elementwise("dropout", cuda.Unsigned(stream), cuda.Unsigned(threshold), cuda.Float(1/(1-k.rate)))
}
