package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestSameModel: a change of a parameter's name or shape, or of the function that a trained model
// computes, makes another model; a change of only the initial values or the training does not.
func TestSameModel(t *testing.T) {
	m, v := tinyMatrix(plainly), tinyVector(plainly)
	for _, other := range []struct {
		base   models.Config
		want   string
		change func(c *subject)
	}{
		{m, "model.stream.kind: want matrix, got vector", func(c *subject) { c.Config = v }},
		{m, "model.layers: want 2, got 3", func(c *subject) { c.Layers = 3 }},
		{v, "model.stream.d_model: want 15, got 30", onField("D", 30)},
		{v, "model.attention.heads: want 3, got 5", func(c *subject) { c.Attention.Heads = 5 }},
		{v, "model.attention.head_dim: want 5, got 7", func(c *subject) { c.Attention.HeadDim = 7 }},
		{m, "model.stream.dk: want 5, got 6", onField("Dk", 6)},
		{m, "model.stream.dv: want 6, got 8", onField("Dv", 8)},
		{m, "model.stream.rank: want 3, got 4", onField("Rank", 4)},
		{m, "model.feedforward.hidden: want 11, got 12", inFeedForward("Hidden", 12)},
		{m, "model.vocab: want 13, got 14", func(c *subject) { c.Vocab = 14 }},
		{m, "model.attention.positions: want learned, got alibi", func(c *subject) { c.Attention.Positions = models.PositionsALiBi }},
		{m, "model.seq: want 9, got 10", func(c *subject) { c.Seq = 10 }},
		{m, "model.bias: want false, got true", func(c *subject) { c.Bias = true }},
		{m, "model.tie_embeddings: want false, got true", func(c *subject) { c.TieEmbeddings = true }},
		{m, "model.norm: want layernorm, got rmsnorm", func(c *subject) { c.Norm = models.NormRMS }},
		{m, "model.norm_eps: want 1e-06, got 1e-05", func(c *subject) { c.NormEps = 1e-5 }},
		{m, "model.gelu: want tanh, got exact", func(c *subject) { c.Gelu = models.GeluExact }},
		{m, "model.attention.inverse_layer_scaling: want false, got true", func(c *subject) { c.Attention.InverseLayerScaling = true }},
	} {
		c := subject{Config: other.base}
		other.change(&c)
		assert.EqualError(t, modeltest.Resolve(t, other.base).SameModel(modeltest.Resolve(t, c.Config)), other.want)
	}
	same := func(a, b models.Config) error { return modeltest.Resolve(t, a).SameModel(modeltest.Resolve(t, b)) }
	c := m
	c.MuP = &models.MuP{OutputMultiplier: 2}
	assert.EqualError(t, same(m, c), "model.logit_scale: want 1, got 2")
	c.MuP = &models.MuP{}
	c.Dropout, c.MaskDocuments, c.BOS, c.Separator, c.InitStd, c.EmbeddingStd, c.Preset = 0.1, true, 3, 5, 1, 1, "quickstart"
	assert.NoError(t, same(m, c))
	assert.NoError(t, same(modeltest.Resolve(t, m).Config, m), "defaults filled in or not")
	m.Attention.Positions, c.Attention.Positions, c.Seq = models.PositionsALiBi, models.PositionsALiBi, 100
	assert.NoError(t, same(m, c), "without a position table rows may have any length")
	v.Attention.HeadDim = 5
	assert.NoError(t, same(tinyVector(plainly), v), "the head dimension said, or d_model / heads")
}
