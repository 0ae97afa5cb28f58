package runconfig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAnOldConfigIsToldWhatToWrite: the error for each key that has moved since format version 1
// gives its present name.
func TestAnOldConfigIsToldWhatToWrite(t *testing.T) {
	const train = "\ntrain: {steps: 1, lr: 1e-3}"
	for _, c := range []struct{ text, want string }{
		{"model:\n  layers: 2\n  stream: matrix\n  dk: 8\n  dv: 8\n  rank: 2\n  ff: 32\n  seq: 16",
			"x.yaml:3: model.stream: want a section since version 2: write stream: {kind: matrix, dk: 8, dv: 8, rank: 2}, feedforward: {kind: gelu, hidden: 32}"},
		{"model: {stream: hyper, dynamic: true, n: 2, m: 0, dk: 0, d_model: 16, heads: 2, expand_embedding: false}",
			"x.yaml:1: model.stream: want a section since version 2: write stream: {kind: hyper, dynamic: true, n: 2, d_model: 16}, attention: {heads: 2}"},
		{"model: {stream: mch}", `x.yaml:1: model.stream: want a map with the key kind, one of ` + strings.Join(zoo.StreamNames(), ", ") + `, and that kind's keys, got "mch"`},
	} {
		_, _, err := Parse(zoo, "x.yaml", []byte(c.text+train), nil)
		assert.EqualError(t, err, c.want)
	}
	for old, now := range map[string]string{
		"d_model": "stream.d_model", "dk": "stream.dk", "dv": "stream.dv", "rank": "stream.rank", "n": "stream.n", "m": "stream.m",
		"dynamic": "stream.dynamic", "sinkhorn_iterations": "stream.sinkhorn_iterations", "expand_embedding": "stream.expand_embedding",
		"inner": "stream.inner", "separate_aggregates": "stream.separate_aggregates",
		"heads": "attention.heads", "head_dim": "attention.head_dim", "positions": "attention.positions", "rope_base": "attention.rope_base",
		"inverse_layer_scaling": "attention.inverse_layer_scaling",
		"ff":                    "feedforward.hidden", "experts": "feedforward.experts", "top_k": "feedforward.top_k",
		"mup.base_d_model": "mup.base.stream.d_model", "mup.base_dk": "mup.base.stream.dk", "mup.base_dv": "mup.base.stream.dv",
		"mup.base_rank": "mup.base.stream.rank", "mup.base_heads": "mup.base.attention.heads", "mup.base_head_dim": "mup.base.attention.head_dim",
		"mup.base_ff": "mup.base.feedforward.hidden",
	} {
		_, _, err := Parse(zoo, "x.yaml", []byte("model: {preset: quickstart}"+train), []string{"model." + old + "=1"})
		requireAt(t, err, "-set", "model."+old)
		assert.ErrorContains(t, err, "model."+now+" ")
		_, _, err = Parse(zoo, "x.yaml", []byte("model: {preset: quickstart}"+train), []string{"model." + now + "=no such value"})
		assert.Error(t, err)
		assert.NotContains(t, err.Error(), "known here", "%s is no key", now)
	}
}

// TestAnOldRunsConfigIsToldWhatToWrite does the same for the config of a run folder of format
// version 1, which has all keys.
func TestAnOldRunsConfigIsToldWhatToWrite(t *testing.T) {
	_, _, err := Load(zoo, "../testdata/version1/run/config.yaml", nil)
	require.EqualError(t, err, `../testdata/version1/run/config.yaml:6: model.stream: want a section since version 2: write stream: {kind: hyper, d_model: 4, n: 2, dynamic: true}, attention: {heads: 2, positions: learned}, feedforward: {kind: gelu, hidden: 8}`)
}
