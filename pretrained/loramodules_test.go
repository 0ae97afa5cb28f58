package pretrained_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
)

// TestTargets: globs choose weights by peft's names, so that queries, keys and values of one
// parameter are three; without an architecture by our parameters' names. Keys of matrix streams,
// experts and tables are refused by name.
func TestTargets(t *testing.T) {
	adapters := func(preset string, targets ...string) ([]graph.Adapter, error) {
		p, err := models.Standard().Preset(preset)
		require.NoError(t, err)
		spec, err := p.Config.Resolve()
		require.NoError(t, err)
		return pretrained.Adapters(models.Standard(), spec, "", runconfig.Lora{Rank: 2, Alpha: 8, Targets: targets})
	}
	names := func(preset string, targets ...string) (names []string) {
		all, err := adapters(preset, targets...)
		require.NoError(t, err)
		for _, a := range all {
			assert.Equal(t, []any{2, 4.0}, []any{a.Rank, a.Scale})
			names = append(names, a.Name)
		}
		return names
	}
	qkv := names("quickstart-modern", "model.layers.1.self_attn.[qkv]_proj")
	assert.Equal(t, []string{"blocks.1.attention.qkv.q_proj", "blocks.1.attention.qkv.k_proj", "blocks.1.attention.qkv.v_proj"}, qkv)
	assert.Equal(t, []string{"blocks.0.feedforward.w1.gate_proj", "blocks.0.feedforward.w3.up_proj", "blocks.0.feedforward.w2.down_proj"},
		names("quickstart-modern", "*.layers.0.mlp.*"))
	assert.Equal(t, []string{"blocks.2.feedforward.w1", "blocks.2.feedforward.w2"}, names("quickstart", "blocks.2.feedforward.w?"))
	for want, c := range map[string][]string{
		`"attention.read" matches blocks.0.attention.read: it holds the keys of a matrix stream`: {"quickstart", "attention.read"},
		`"embedding" matches embedding: it is a table, a norm or an unembedding`:                 {"quickstart", "embedding"},
		`"lm_head" matches lm_head: it is a table, a norm or an unembedding`:                     {"quickstart-modern", "lm_head"},
		`matches blocks.0.feedforward.w1: it holds several matrices, as experts do`:              {"moe-8x2", "w1"},
		`want globs of the model's weights [down_proj gate_proj k_proj o_proj q_proj up_proj`:    {"quickstart-modern", "c_attn"},
	} {
		_, err := adapters(c[0], c[1:]...)
		assert.ErrorContains(t, err, want)
	}
}
