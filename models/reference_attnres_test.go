package models_test

import (
	"testing"

	"github.com/residua-go/residua/stream"
)

// readAttnRes has a query and a gain at each site but the first, and last ones, which lie as ours. With delta there are
// none at the end, none for a read of one source, and with a gate one more number a site.
func readAttnRes(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.AttnResConfig{Block: c.Block, Delta: c.Delta, Gate: c.Gate})
	link := func(prefix string, names ...string) {
		for _, name := range names {
			r.weights = append(r.weights, same(prefix+"attnres."+name, 1))
		}
	}
	if !c.Delta {
		link("", "query", "norm")
	}
	index := 0
	sites(c.Layers, func(prefix string) {
		if index > 0 && (!c.Delta || index >= c.Block) {
			link(prefix, "query", "norm")
		}
		if index > 0 && c.Gate {
			link(prefix, "gate")
		}
		index++
	})
}
