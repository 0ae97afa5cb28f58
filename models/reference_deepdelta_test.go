package models_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/stream"
)

// readDeepDelta links w_b and W_v transposed, and filters by tap, row and feature.
func readDeepDelta(t *testing.T, r *reference) {
	c := readSizes(t, r)
	var own struct {
		Dv, Conv int
		VScale   float64 `json:"v_scale"`
		KEps     float64 `json:"k_eps"`
	}
	require.NoError(t, json.Unmarshal(r.expected.Config, &own))
	r.config = r.config.OnStream(stream.DeepDeltaConfig{Dv: own.Dv, Conv: own.Conv, VScale: own.VScale, KEps: own.KEps})
	sites(c.Layers, func(prefix string) {
		d := prefix + "delta."
		r.weights = append(r.weights, same(d+"beta.w", 1, c.D), same(d+"beta.b", 1), same(d+"v.w", 1, c.D), same(d+"v.b", 1))
	})
	if own.Dv == 1 {
		return
	}
	for l := range c.Layers + 1 {
		prefix := fmt.Sprintf("blocks.%d.", l)
		if l == c.Layers {
			prefix = ""
		}
		r.weights = append(r.weights, same(prefix+"compress.read", 1))
		if own.Conv == 0 {
			continue
		}
		// Row d*dv + c of theirs is (c, d) of ours: one link for each c would split a tensor of theirs.
		r.weights = append(r.weights, link{theirs: prefix + "compress.conv", ours: prefix + "compress.conv",
			split: []int{c.D, own.Dv, own.Conv}, strides: []int{1, c.D, own.Dv * c.D}})
	}
}
