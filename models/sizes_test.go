package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// TestSize: sizes are read and replaced in a section, in a design's settings and in the vectors
// that it embeds; the config itself stays as it is.
func TestSize(t *testing.T) {
	c := models.Transformer(2, 64, 256, 4)
	before := c
	for key, want := range map[string]int{"stream.d_model": 64, "attention.heads": 4, "feedforward.hidden": 256, "layers": 2} {
		size, err := c.Size(key)
		require.NoError(t, err)
		assert.Equal(t, want, size, key)
		changed, err := c.WithSize(key, 3*want)
		require.NoError(t, err)
		size, err = changed.Size(key)
		require.NoError(t, err)
		assert.Equal(t, 3*want, size, key)
	}
	assert.Equal(t, before, c)
	for _, key := range []string{"stream.dk", "stream", "norm", "mup.base", "d_model", "stream.d_model.x"} {
		_, err := c.Size(key)
		assert.ErrorContains(t, err, "model."+key+": want a size that the model has")
		_, err = c.WithSize(key, 2)
		assert.ErrorContains(t, err, "model."+key+": want a size that the model has")
	}
}

// TestDesignsGrow: each way to enlarge a design gives a model that can be built, also at three
// times the width.
func TestDesignsGrow(t *testing.T) {
	for _, d := range models.Standard().Streams() {
		scaled, ok := d.(stream.MuPDesign)
		if !ok {
			continue
		}
		for i, g := range scaled.WidthScalings() {
			assert.Equal(t, i == 0, g.Name == "", "%s: only the first is of all sizes", d.Name())
			c := models.Config{Layers: 2, Vocab: 9, Seq: 4, Stream: g.Base, Attention: models.Attention{Heads: g.Heads}, FeedForward: layers.GELUConfig{Hidden: 16}}
			small, err := c.Resolve()
			require.NoError(t, err)
			for _, key := range g.Keys {
				size, err := c.Size(key)
				require.NoError(t, err)
				c, err = c.WithSize(key, 3*size)
				require.NoError(t, err)
			}
			large, err := c.Resolve()
			require.NoError(t, err)
			assert.Greater(t, large.Cost().Parameters, small.Cost().Parameters)
		}
	}
}
