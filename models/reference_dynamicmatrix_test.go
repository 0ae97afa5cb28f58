package models_test

import (
	"strings"
	"testing"

	"github.com/residua-go/residua/stream"
)

// readsDynamicRMT is the kind of references that readDynamicRMT reads.
const readsDynamicRMT = "dynamic-matrix"

// readDynamicRMT reads the paper form of the RMT with the projections of the stream that are added
// to the keys of its sites. In their tensors each key is a row; in ours each is a column, and the
// keys that read for the heads lie side by side.
func readDynamicRMT(t *testing.T, r *reference) {
	readRMT(t, r)
	c := r.config.Stream.(stream.MatrixConfig)
	r.config.Stream = stream.DynamicMatrixConfig(c)
	sites(r.config.Layers, func(prefix string) {
		names := map[string]int{"write": 0, "read": 0}
		if strings.HasSuffix(prefix, "attention.") {
			names = map[string]int{"write": 0, "read_q": 0, "read_k": c.Rank, "read_v": 2 * c.Rank}
		}
		for name, first := range names {
			ours, _, _ := strings.Cut(name, "_")
			all := c.Rank
			if strings.HasPrefix(name, "read_") {
				all = 3 * c.Rank
			}
			columns := []int{1, all}
			r.replace(link{theirs: prefix + name, ours: prefix + ours + ".static", base: first, strides: columns},
				link{theirs: prefix + name + ".scale", ours: prefix + ours + ".scale", base: first, strides: columns},
				link{theirs: prefix + name + ".w", ours: prefix + ours + ".w", base: first, strides: []int{all, 1}})
		}
	})
}
