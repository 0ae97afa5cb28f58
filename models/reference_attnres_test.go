package models_test

import (
	"testing"

	"github.com/residua-go/residua/stream"
)

// readAttnRes has a query and a gain at each site but the first, and last ones, which lie as ours.
func readAttnRes(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.AttnResConfig{Block: c.Block})
	r.weights = append(r.weights, same("attnres.query", 1), same("attnres.norm", 1))
	sites(c.Layers, func(prefix string) {
		if prefix != site(0, "attention") {
			r.weights = append(r.weights, same(prefix+"attnres.query", 1), same(prefix+"attnres.norm", 1))
		}
	})
}
