package models_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// refusal is a config with which no model can be built, and the error.
type refusal struct {
	field, problem string
	bad            models.Config
}

// onStream and withFeedForward change one section.
func onStream(d stream.Design) func(c *models.Config) { return func(c *models.Config) { c.Stream = d } }

func withFeedForward(d layers.FeedForwardDesign) func(c *models.Config) {
	return func(c *models.Config) { c.FeedForward = d }
}

func withAttention(a models.Attention) func(c *models.Config) {
	return func(c *models.Config) { c.Attention = a }
}

func badShapes() []refusal {
	keys := func(dk, dv, rank int) models.Config {
		return tinyMatrix(onStream(stream.MatrixConfig{Dk: dk, Dv: dv, Rank: rank}))
	}
	rope := withAttention(models.Attention{Heads: 3, Positions: models.PositionsRoPE})
	return []refusal{
		{"stream", "want a section with a kind, got nothing: name a kind of stream, or a preset", models.Config{}},
		{"stream", "want a section with a kind, got nothing: name a kind of stream, or a preset", models.Config{Preset: "rmt-134m"}},
		{"stream", "want a struct that embeds stream.Common, got *stream.MatrixConfig", tinyMatrix(onStream(&stream.MatrixConfig{Dk: 5, Dv: 6, Rank: 3}))},
		{"stream", "want a struct that embeds stream.Common, got *stream.MatrixConfig", tinyMatrix(onStream((*stream.MatrixConfig)(nil)))},
		{"stream", "want a struct that embeds stream.Common, got models_test.bare", tinyMatrix(onStream(bare{}))},
		{"layers", "want >= 1, got 0", tinyMatrix(func(c *models.Config) { c.Layers = 0 })},
		{"stream.dk", "want >= 1, got -1", keys(-1, 6, 3)},
		{"stream.dv", "want >= 1, got 0", keys(5, 0, 3)},
		{"stream.rank", "want >= 1, got 0", keys(5, 6, 0)},
		{"feedforward", "want a section with a kind, as {kind: gelu, hidden: 72}, got nothing", tinyMatrix(withFeedForward(nil))},
		{"feedforward", "want a struct, got *layers.GELUConfig", tinyMatrix(withFeedForward(&layers.GELUConfig{Hidden: 5}))},
		{"feedforward", "want a struct, got *layers.GELUConfig", tinyMatrix(withFeedForward((*layers.GELUConfig)(nil)))},
		{"feedforward.hidden", "want >= 1, got 0", tinyMatrix(withFeedForward(gelu(0)))},
		{"feedforward.hidden", "want >= 1, got -2", tinyVector(withFeedForward(gelu(-2)))},
		{"vocab", "want >= 1, got 0", tinyMatrix(func(c *models.Config) { c.Vocab = 0 })},
		{"seq", "want >= 1, got 0", tinyVector(func(c *models.Config) { c.Seq = 0 })},
		{"stream.d_model", "want >= 1, got 0", tinyVector(onStream(vectorOf(0)))},
		{"attention.heads", "want >= 1, got 0", tinyVector(withAttention(models.Attention{}))},
		{"attention.heads", "want a divisor of d_model 15, got 4", tinyVector(withAttention(models.Attention{Heads: 4}))},
		{"attention.heads", "want nothing for the matrix stream, whose heads are model.stream.rank, got 2: remove it", tinyMatrix(withAttention(models.Attention{Heads: 2}))},
		{"attention.positions", "rope wants an even head dimension, got 5", tinyVector(rope)},
		{"attention.positions", "rope wants an even head dimension, got 7", tinyMatrix(func(c *models.Config) {
			c.Stream, c.Attention.Positions = stream.MatrixConfig{Dk: 5, Dv: 7, Rank: 3}, models.PositionsRoPE
		})},
	}
}

// bare is a design that does not embed the settings that a model fills in.
type bare struct{}

func (bare) Name() string                       { return "bare" }
func (d bare) Defaults() stream.Design          { return d }
func (bare) Check() error                       { return nil }
func (bare) Card() layers.Card                  { return layers.Card{} }
func (bare) Shape() stream.Shape                { return stream.Shape{} }
func (bare) Cost() layers.Cost                  { return layers.Cost{} }
func (bare) New(b *graph.Builder) stream.Stream { return nil }

func badChoices() []refusal {
	return []refusal{
		{"norm", `want one of [layernorm rmsnorm], got "batchnorm"`, tinyMatrix(func(c *models.Config) { c.Norm = "batchnorm" })},
		{"attention.positions", `want one of [learned alibi rope none], got "sinus"`, tinyMatrix(func(c *models.Config) { c.Attention.Positions = "sinus" })},
		{"gelu", `want one of [tanh exact], got "relu"`, tinyMatrix(func(c *models.Config) { c.Gelu = "relu" })},
		{"init", `want one of [paper lecun lecun-all], got "he"`, tinyMatrix(func(c *models.Config) { c.Init = "he" })},
	}
}

func badNumbers() []refusal {
	nan := math.NaN()
	return []refusal{
		{"norm_eps", "want between 0 and 1, got -1e-06", tinyMatrix(func(c *models.Config) { c.NormEps = -1e-6 })},
		{"norm_eps", "want between 0 and 1, got 1", tinyMatrix(func(c *models.Config) { c.NormEps = 1 })},
		{"norm_eps", "want between 0 and 1, got NaN", tinyMatrix(func(c *models.Config) { c.NormEps = nan })},
		{"dropout", "want a rate in [0, 1), got 1", tinyMatrix(func(c *models.Config) { c.Dropout = 1 })},
		{"dropout", "want a rate in [0, 1), got -0.1", tinyMatrix(func(c *models.Config) { c.Dropout = -0.1 })},
		{"stream.x0", `want none, neutral or nanochat, got "modern"`, tinyVector(withOptions(false, "modern"))},
		{"logit_softcap", "want a finite number >= 0 (0: not capped), got -30", tinyVector(func(c *models.Config) { c.LogitSoftcap = -30 })},
		{"logit_softcap", "want a finite number >= 0 (0: not capped), got +Inf", tinyVector(func(c *models.Config) { c.LogitSoftcap = math.Inf(1) })},
		{"dropout", "want a rate in [0, 1), got NaN", tinyMatrix(func(c *models.Config) { c.Dropout = nan })},
		{"attention.kv_heads", "want a divisor of the 3 heads, or 0 for as many, got 2", tinyVector(withAttention(models.Attention{Heads: 3, KVHeads: 2}))},
		{"attention.kv_heads", "want a divisor of the 3 heads, or 0 for as many, got 2", tinyMatrix(withAttention(models.Attention{KVHeads: 2}))},
		{"attention.kv_heads", "want a divisor of the 3 heads, or 0 for as many, got -1", tinyVector(withAttention(models.Attention{Heads: 3, KVHeads: -1}))},
		{"attention.value_residual", "want one of [none fixed learned], got \"half\"", tinyVector(withAttention(models.Attention{Heads: 3, ValueResidual: "half"}))},
		{"attention.value_embeddings", "want entries of the attention's input, 0 to 15, got -1", tinyVector(withAttention(models.Attention{Heads: 3, ValueEmbeddings: -1}))},
		{"attention.value_embeddings", "want 0 for the matrix stream, which has nothing else", tinyMatrix(withAttention(models.Attention{ValueEmbeddings: 2}))},
		{"attention.value_residual", "want none for a model of one block, got fixed", tinyVector(func(c *models.Config) { c.Layers, c.Attention.ValueResidual = 1, models.ValuesFixed })},
		{"attention.head_dim", "want >= 1, or 0 for d_model/heads, got -1", tinyVector(withAttention(models.Attention{Heads: 3, HeadDim: -1}))},
		{"attention.head_dim", "want nothing for the matrix stream, whose heads have model.stream.dv entries, got 4: remove it", tinyMatrix(withAttention(models.Attention{HeadDim: 4}))},
		{"init_std", "want a finite number > 0, got -1", tinyMatrix(func(c *models.Config) { c.InitStd = -1 })},
		{"init_std", "want a finite number > 0, got NaN", tinyMatrix(func(c *models.Config) { c.InitStd = nan })},
		{"init_std", "want a finite number > 0, got +Inf", tinyMatrix(func(c *models.Config) { c.InitStd = math.Inf(1) })},
		{"init_std", "want nothing with init lecun, whose numerator is 1, got 0.5: remove it or set init to paper", tinyMatrix(func(c *models.Config) { c.Init, c.InitStd = models.InitLeCun, 0.5 })},
		{"embedding_std", "want a finite number > 0, got -1", tinyMatrix(func(c *models.Config) { c.EmbeddingStd = -1 })},
		{"embedding_std", "want a finite number > 0, got NaN", tinyMatrix(func(c *models.Config) { c.EmbeddingStd = nan })},
		{"attention.rope_base", "want > 1 and positions rope, got 10000 with positions learned", tinyMatrix(withAttention(models.Attention{RopeBase: 1e4}))},
		{"attention.rope_base", "want > 1 and positions rope, got 1 with positions rope", tinyMatrix(withAttention(models.Attention{Positions: models.PositionsRoPE, RopeBase: 1}))},
		{"attention.rope_base", "want > 1 and positions rope, got NaN with positions rope", tinyMatrix(withAttention(models.Attention{Positions: models.PositionsRoPE, RopeBase: nan}))},
		{"bias", "rmsnorm has no bias: set norm to layernorm, or bias to false and attention.bias and feedforward_bias, for those of linear maps", tinyMatrix(func(c *models.Config) { c.Norm, c.Bias = models.NormRMS, true })},
		{"bos", "want an id below the vocabulary 13, got 13", tinyMatrix(func(c *models.Config) { c.MaskDocuments, c.BOS = true, 13 })},
		{"bos", "want an id below the vocabulary 13, got -1", tinyMatrix(func(c *models.Config) { c.MaskDocuments, c.BOS = true, -1 })},
		{"separator", "want an id below the vocabulary 13, got 13", tinyMatrix(func(c *models.Config) { c.Separator = 13 })},
	}
}

func badMuP() []refusal {
	matrix := func(m models.MuP) models.Config { return tinyMatrix(func(c *models.Config) { c.MuP = &m }) }
	vector := func(m models.MuP) models.Config { return tinyVector(func(c *models.Config) { c.MuP = &m }) }
	base := func(d stream.Design) models.MuP { return models.MuP{Base: models.MuPBase{Stream: d}} }
	heads := func(h models.BaseHeads) models.MuP { return models.MuP{Base: models.MuPBase{Attention: h}} }
	hidden := func(d layers.FeedForwardDesign) models.MuP {
		return models.MuP{Base: models.MuPBase{FeedForward: d}}
	}
	return []refusal{
		{"mup.base.stream.d_model", "want >= 1, got -1", vector(base(vectorOf(-1)))},
		{"mup.base.attention.heads", "want >= 1, got -1", vector(heads(models.BaseHeads{Heads: -1}))},
		{"mup.base.attention.head_dim", "want >= 1, got -1", vector(heads(models.BaseHeads{HeadDim: -1}))},
		{"mup.base.stream.dk", "want >= 1, got -1", matrix(base(stream.MatrixConfig{Dk: -1}))},
		{"mup.base.stream.dv", "want >= 1, got -1", matrix(base(stream.MatrixConfig{Dv: -1}))},
		{"mup.base.stream.rank", "want >= 1, got -1", matrix(base(stream.MatrixConfig{Rank: -1}))},
		{"mup.base.feedforward.hidden", "want >= 1, got -1", matrix(hidden(gelu(-1)))},
		{"mup.base.stream", "want the kind of model.stream, got vector", matrix(base(vectorOf(4)))},
		{"mup.base.stream", "want the kind of model.stream, got matrix", vector(base(stream.MatrixConfig{Dk: 4}))},
		{"mup.base.stream", "want the kind of model.stream, got highway", vector(base(stream.HighwayConfig{}))},
		{"mup.base.stream", "want a struct, got *stream.VectorConfig", vector(base((*stream.VectorConfig)(nil)))},
		{"mup.base.feedforward", "want a struct, got *layers.GELUConfig", vector(hidden(&layers.GELUConfig{}))},
		{"mup.base.feedforward", "want the kind of model.feedforward, got moe", matrix(hidden(layers.MoEConfig{Hidden: 4}))},
		{"mup.base.attention.heads", "want nothing for the matrix stream, whose heads are its own, got 4: remove it", matrix(heads(models.BaseHeads{Heads: 4}))},
		{"mup.base.attention.head_dim", "want nothing for the matrix stream, whose heads are its own, got 4: remove it", matrix(heads(models.BaseHeads{HeadDim: 4}))},
		{"mup.input_multiplier", "want a finite number > 0, got -1", matrix(models.MuP{InputMultiplier: -1})},
		{"mup.output_multiplier", "want a finite number > 0, got -2", matrix(models.MuP{OutputMultiplier: -2})},
		{"mup.attn_multiplier", "want a finite number > 0, got NaN", vector(models.MuP{AttnMultiplier: math.NaN()})},
	}
}

// TestValidateRefuses: each bad config gives an error with one field and one message, and no model.
func TestValidateRefuses(t *testing.T) {
	for _, refusals := range [][]refusal{badShapes(), badChoices(), badNumbers(), badMuP(), badZoo(t), badLoops(), badExperts()} {
		for _, r := range refusals {
			spec, err := r.bad.Resolve()
			var field *models.FieldError
			if assert.True(t, errors.As(err, &field), "%s: %v", r.field, err) {
				assert.Equal(t, r.field, field.Field)
				assert.Equal(t, r.problem, field.Problem, r.field)
				assert.EqualError(t, err, "model."+r.field+": "+r.problem)
			}
			assert.NotContains(t, r.problem, "\n", "%s: one line", r.field)
			assert.True(t, spec.IsZero(), "%s: nothing to build", r.field)
		}
	}
}

// TestValidateNamesTheFirst: of several bad fields the error names the first in reading order.
func TestValidateNamesTheFirst(t *testing.T) {
	c := models.Config{Stream: stream.MatrixConfig{Dk: 2, Dv: 2}, Layers: 1, FeedForward: gelu(0), Norm: "x", Dropout: 2}
	require.EqualError(t, problem(c), "model.stream.rank: want >= 1, got 0")
	c.Stream = stream.MatrixConfig{Dk: 2, Dv: 2, Rank: 1}
	require.EqualError(t, problem(c), "model.vocab: want >= 1, got 0")
	c.Vocab, c.Seq = 1, 1
	require.EqualError(t, problem(c), "model.feedforward.hidden: want >= 1, got 0")
	c.FeedForward = gelu(1)
	require.EqualError(t, problem(c), `model.norm: want one of [layernorm rmsnorm], got "x"`)
	c.Norm = ""
	require.EqualError(t, problem(c), "model.dropout: want a rate in [0, 1), got 2")
	c.Dropout = 0
	require.NoError(t, problem(c))
}

// TestResolve: zero fields take the documented defaults, others stay, and resolving again changes
// nothing.
func TestResolve(t *testing.T) {
	spec := modeltest.Resolve(t, tinyMatrix(plainly))
	want := tinyMatrix(func(c *models.Config) {
		c.Norm, c.NormEps, c.Attention.Positions, c.Gelu, c.Init, c.InitStd, c.EmbeddingStd = "layernorm", 1e-6, "learned", "tanh", "paper", 0.02, 0.02
	})
	assert.Equal(t, want, spec.Config)
	assert.Equal(t, spec, modeltest.Resolve(t, spec.Config))
	rope := tinyMatrix(withAttention(models.Attention{Positions: models.PositionsRoPE}))
	assert.Equal(t, 1e4, modeltest.Resolve(t, rope).Attention.RopeBase)
	rope.Attention.RopeBase = 500
	assert.Equal(t, 500.0, modeltest.Resolve(t, rope).Attention.RopeBase)
}

// TestResolveTellsTheDesign: a stream's design gets everything that the model tells every stream,
// whatever its own Common held.
func TestResolveTellsTheDesign(t *testing.T) {
	c := tinyVector(func(c *models.Config) {
		c.Stream = stream.VectorConfig{Vectors: stream.Vectors{D: 15, Common: stream.Common{Layers: 7, Dropout: 0.5, Heads: 5, Ratios: stream.Ratios{WidthRatio: 9}}}}
		c.Bias, c.TieEmbeddings, c.Gelu, c.Dropout, c.Attention.HeadDim = true, true, models.GeluExact, 0.25, 4
		c.MuP = &models.MuP{Base: models.MuPBase{Stream: vectorOf(5)}, InputMultiplier: 3}
	})
	got := modeltest.Resolve(t, c).Design().(stream.VectorConfig)
	assert.Equal(t, stream.Vectors{D: 15, Common: stream.Common{
		Layers: 2, Vocab: 13, Heads: 3, HeadDim: 4, KVHeads: 3, Positions: 9, Norm: layers.NormConfig{Eps: 1e-6, Bias: true},
		Init: layers.Init{Std: 0.02, Embedding: 0.02, Layers: 2}, Bias: true, Tied: true, ExactGelu: true, InputScale: 3, Dropout: 0.25,
		Ratios: stream.Ratios{WidthRatio: 3, HeadsRatio: 1, KeyRatio: 1, RankRatio: 1, InnerRatio: 1, BaseHeadDim: 4}}}, got.Vectors)
}

// TestAuxiliaryCoefficientsAreChecked: a coefficient that is negative or not finite makes no loss.
func TestAuxiliaryCoefficientsAreChecked(t *testing.T) {
	c := modeltest.Resolve(t, tinyVector(experts(3, 2)))
	for _, bad := range []models.Auxiliary{{ZLoss: -1}, {BalanceLoss: math.NaN()}, {RouterZLoss: math.Inf(1)}} {
		_, err := models.Compile(c, 2, c.Seq, models.Outputs{Loss: true, Auxiliary: bad}, graph.ProgramOptions{})
		assert.ErrorContains(t, err, "models: Loss: want auxiliary coefficients that are finite and >= 0, got")
	}
}

// problem returns the error of Resolve for a config.
func problem(c models.Config) error {
	_, err := c.Resolve()
	return err
}
