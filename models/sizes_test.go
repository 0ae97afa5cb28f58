package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// TestWidened: the named sizes are multiplied, in a section, in a design's and in the vectors
// that it embeds; the config itself stays as it is.
func TestWidened(t *testing.T) {
	c := models.Transformer(2, 64, 256, 4)
	before := c
	got, err := c.Widened(3, "stream.d_model", "attention.heads", "feedforward.hidden", "layers")
	require.NoError(t, err)
	assert.Equal(t, models.Transformer(6, 192, 768, 12), got)
	assert.Equal(t, before, c)
	for _, key := range []string{"stream.dk", "stream", "norm", "mup.base", "d_model", "stream.d_model.x"} {
		_, err := c.Widened(2, key)
		assert.ErrorContains(t, err, "model."+key+": want a size that the model has")
	}
}

// TestDesignsGrow: each growth of a design is of a model that can be built, three times as wide
// as well.
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
			c, err = c.Widened(3, g.Keys...)
			require.NoError(t, err)
			large, err := c.Resolve()
			require.NoError(t, err)
			assert.Greater(t, large.Cost().Parameters, small.Cost().Parameters)
		}
	}
}
