package models_test

import (
	"math/bits"
	"testing"

	"github.com/residua-go/residua/stream"
)

// readKromHC is KromHC, whose tensors lie as ours: log2(n) pairs in the place of mHC's matrix.
func readKromHC(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.KromHCConfig{N: c.N})
	pairs := bits.Len(uint(c.N)) - 1
	sites(c.Layers, func(prefix string) {
		m := prefix + "mhc."
		r.weights = append(r.weights, same(m+"phi", 2*c.N+2*pairs, 1), same(m+"alpha", 1), same(m+"b", 1))
	})
}
