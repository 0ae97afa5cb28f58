package models_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/stream"
)

// readMUDD links the norms of q, k and v to the rows of one tensor, and the connections, which lie
// as ours.
func readMUDD(t *testing.T, r *reference) {
	var own struct {
		PrePost    bool
		ExpandLast bool `json:"expand_last"`
		Round64    bool
	}
	require.NoError(t, json.Unmarshal(r.expected.Config, &own))
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.MUDDConfig{PrePost: own.PrePost, ExpandLast: own.ExpandLast, Round64: own.Round64})
	if own.PrePost {
		r.weights = append(r.weights, same("mudd.norm", 1))
	}
	for l := range c.Layers {
		if norm := site(l, "attention") + "norm"; l > 0 || own.PrePost {
			r.remove(norm)
			for i, way := range []string{"_q", "_k", "_v"} {
				r.weights = append(r.weights, link{theirs: norm + way, ours: norm, base: i * c.D, strides: []int{1}})
			}
		}
		sums, sources := 4, l+2
		if l == c.Layers-1 {
			sums = 1
		}
		hidden := sums * sources
		if sums == 1 && own.ExpandLast {
			hidden *= 4
		}
		if own.Round64 {
			hidden = (hidden/64 + 1) * 64
		}
		m := fmt.Sprintf("blocks.%d.mudd.", l)
		r.weights = append(r.weights, same(m+"w1", hidden, 1), same(m+"w2", sums*sources, 1), same(m+"bias", sources, 1))
		if own.PrePost {
			r.weights = append(r.weights, same(m+"norm", 1), same(m+"dense_norm", 1), same(m+"post_norm", 1))
		}
	}
}
