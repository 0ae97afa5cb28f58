package models_test

import (
	"testing"

	"github.com/residua-go/residua/stream"
)

// readGatedResidual has reads in the place of all norms; W_down | W_inject are columns of one tensor.
func readGatedResidual(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.GatedResidualConfig{N: c.N, Rank: c.Rank})
	r.remove("norm")
	size := c.N * c.D
	read := func(prefix string, columns int) {
		r.weights = append(r.weights, same(prefix+"norm", 1), same(prefix+"up", size, 1),
			link{theirs: prefix + "down", ours: prefix + "down", strides: []int{columns, 1}})
	}
	sites(c.Layers, func(prefix string) {
		r.remove(prefix + "norm")
		read(prefix+"gated.", c.Rank+c.N)
		r.weights = append(r.weights, link{theirs: prefix + "gated.inject", ours: prefix + "gated.down", base: c.Rank, strides: []int{c.Rank + c.N, 1}})
	})
	read("gated.", c.Rank)
}
