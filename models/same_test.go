package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/models"
)

// TestSameModel: what changes a parameter's name or shape, or the function that a trained
// model computes, is another model; what changes only the start or the training is not.
func TestSameModel(t *testing.T) {
	m, v := tinyMatrix(func(*models.Config) {}), tinyVector(func(*models.Config) {})
	for _, other := range []struct {
		base   models.Config
		want   string
		change func(c *models.Config)
	}{
		{m, "model.stream: want matrix, got vector", func(c *models.Config) { *c = v }},
		{m, "model.layers: want 2, got 3", func(c *models.Config) { c.Layers = 3 }},
		{v, "model.d_model: want 15, got 30", func(c *models.Config) { c.DModel = 30 }},
		{v, "model.heads: want 3, got 5", func(c *models.Config) { c.Heads = 5 }},
		{m, "model.dk: want 5, got 6", func(c *models.Config) { c.Dk = 6 }},
		{m, "model.dv: want 6, got 8", func(c *models.Config) { c.Dv = 8 }},
		{m, "model.rank: want 3, got 4", func(c *models.Config) { c.Rank = 4 }},
		{m, "model.ff: want 11, got 12", func(c *models.Config) { c.FF = 12 }},
		{m, "model.vocab: want 13, got 14", func(c *models.Config) { c.Vocab = 14 }},
		{m, "model.positions: want learned, got alibi", func(c *models.Config) { c.Positions = models.PositionsALiBi }},
		{m, "model.seq: want 9, got 10", func(c *models.Config) { c.Seq = 10 }},
		{m, "model.bias: want false, got true", func(c *models.Config) { c.Bias = true }},
		{m, "model.tie_embeddings: want false, got true", func(c *models.Config) { c.TieEmbeddings = true }},
		{m, "model.norm: want layernorm, got rmsnorm", func(c *models.Config) { c.Norm = models.NormRMS }},
		{m, "model.norm_eps: want 1e-06, got 1e-05", func(c *models.Config) { c.NormEps = 1e-5 }},
		{m, "model.gelu: want tanh, got exact", func(c *models.Config) { c.Gelu = models.GeluExact }},
		{m, "model.inverse_layer_scaling: want false, got true", func(c *models.Config) { c.InverseLayerScaling = true }},
	} {
		c := other.base
		other.change(&c)
		assert.EqualError(t, other.base.SameModel(c), other.want)
	}
	c := m
	c.MuP = &models.MuP{OutputMultiplier: 2}
	assert.EqualError(t, m.SameModel(c), "model.mup: scale of the logits: want 1, got 2")
	c.MuP = &models.MuP{}
	c.Dropout, c.ZLoss, c.MaskDocuments, c.InitStd = 0.1, 1e-4, true, 1
	assert.NoError(t, m.SameModel(c))
	assert.NoError(t, m.Resolve().SameModel(m), "defaults filled in or not")
	m.Positions, c.Positions, c.Seq = models.PositionsALiBi, models.PositionsALiBi, 100
	assert.NoError(t, m.SameModel(c), "without a position table rows may have any length")
}
