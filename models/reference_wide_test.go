package models_test

import (
	"testing"

	"github.com/residua-go/residua/stream"
)

// readWide has factors to read, write and keep rows, which lie as ours, and those of the last read; or norms and
// maps around latents, and a stream of another width.
func readWide(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.WideConfig{Form: c.Form, N: c.N, Retention: c.Retention, MaxForget: c.MaxForget, Width: c.Width})
	if c.Form == "latent" {
		r.replace(same("embedding", c.Width, 1), same("positions", c.Width, 1))
		sites(c.Layers, func(prefix string) {
			r.replace(link{theirs: prefix + "norm", ours: prefix + "wide.norm", strides: []int{1}})
			r.weights = append(r.weights, same(prefix+"wide.down", c.D, 1), same(prefix+"wide.up", c.Width, 1),
				link{theirs: prefix + "wide.norm", ours: prefix + "norm", strides: []int{1}})
		})
		return
	}
	r.weights = append(r.weights, same("wide.read", 1))
	sites(c.Layers, func(prefix string) {
		r.weights = append(r.weights, same(prefix+"wide.read", 1), same(prefix+"wide.write", 1))
		if c.Retention {
			r.weights = append(r.weights, same(prefix+"wide.keep", 1))
		}
	})
}
