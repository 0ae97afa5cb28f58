package runconfig

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/layers"
)

// TestAttentionKinds: another kind keeps the heads, positions and other keys that a preset gives. A
// config without a kind, or with the default, is the same run as before kinds existed. A window
// changes the run's identity, and is read back from the run's folder.
func TestAttentionKinds(t *testing.T) {
	modern := []string{"model.preset=quickstart-modern"}
	plain, _, err := Load(zoo, "quickstart", modern)
	require.NoError(t, err)
	named, _, err := Load(zoo, "quickstart", []string{modern[0], "model.attention.kind=softmax"})
	require.NoError(t, err)
	slides, where, err := Load(zoo, "quickstart", []string{modern[0], "model.attention={kind: sliding, window: 8, layers: [0, 2]}", "model.attention.sinks=2"})
	require.NoError(t, err)
	assert.Equal(t, "-set", where.Of("model.attention.sinks"))
	assert.Equal(t, layers.SlidingAttention{Window: 8, Sinks: 2, Layers: []int{0, 2}}, slides.Model.Attention.Kind)
	assert.Equal(t, plain.Model.Attention.KVHeads, slides.Model.Attention.KVHeads)
	assert.Equal(t, plain.Model.Attention.Positions, slides.Model.Attention.Positions)

	want, err := plain.Canonical()
	require.NoError(t, err)
	assert.NotContains(t, want, "attention.kind")
	got, err := named.Canonical()
	require.NoError(t, err)
	assert.Equal(t, want, got)
	got, err = slides.Canonical()
	require.NoError(t, err)
	assert.Contains(t, got, "model.attention.kind: sliding\nmodel.attention.kv_heads: ")
	assert.Contains(t, got, "model.attention.window: 8\n")

	for _, run := range []*Run{plain, named, slides} {
		text, err := run.Text()
		require.NoError(t, err)
		again, _, err := Parse(zoo, "config.yaml", text, nil)
		require.NoError(t, err, string(text))
		assert.Equal(t, run.Model, again.Model, string(text))
	}
	_, _, err = Load(zoo, "quickstart", []string{modern[0], "model.attention.kind=sliding"})
	requireAt(t, err, "-set", "model.attention.window")
	_, _, err = Load(zoo, "quickstart", []string{modern[0], "model.attention.window=8"})
	requireAt(t, err, "-set", "model.attention.window")
}
