package models_test

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/models"
)

// presetNames are the names of all presets, sorted.
func presetNames() []string {
	var names []string
	for _, p := range models.Presets() {
		names = append(names, p.Name)
	}
	sort.Strings(names)
	return names
}

// refusal is a config that no model can be built with.
type refusal struct {
	field, problem string
	bad            models.Config
}

func badShapes() []refusal {
	return []refusal{
		{"stream", "want one of [matrix vector hyper mhc mhc-lite vwn highway hieragg dwlstm], got nothing: name a stream or a preset", models.Config{}},
		{"stream", `want one of [matrix vector hyper mhc mhc-lite vwn highway hieragg dwlstm], got "tensor"`, models.Config{Stream: "tensor"}},
		{"preset", fmt.Sprintf("want one of %v, got %q", presetNames(), "rmt"), models.Config{Preset: "rmt"}},
		{"layers", "want >= 1, got 0", tinyMatrix(func(c *models.Config) { c.Layers = 0 })},
		{"dk", "want >= 1, got -1", tinyMatrix(func(c *models.Config) { c.Dk = -1 })},
		{"dv", "want >= 1, got 0", tinyMatrix(func(c *models.Config) { c.Dv = 0 })},
		{"rank", "want >= 1, got 0", tinyMatrix(func(c *models.Config) { c.Rank = 0 })},
		{"ff", "want >= 1, got 0", tinyMatrix(func(c *models.Config) { c.FF = 0 })},
		{"vocab", "want >= 1, got 0", tinyMatrix(func(c *models.Config) { c.Vocab = 0 })},
		{"seq", "want >= 1, got 0", tinyVector(func(c *models.Config) { c.Seq = 0 })},
		{"d_model", "want >= 1, got 0", tinyVector(func(c *models.Config) { c.DModel = 0 })},
		{"heads", "want >= 1, got 0", tinyVector(func(c *models.Config) { c.Heads = 0 })},
		{"heads", "want a divisor of d_model 15, got 4", tinyVector(func(c *models.Config) { c.Heads = 4 })},
		{"d_model", "want nothing for the matrix stream, got 8: remove it or change model.stream", tinyMatrix(func(c *models.Config) { c.DModel = 8 })},
		{"heads", "want nothing for the matrix stream, got 2: remove it or change model.stream", tinyMatrix(func(c *models.Config) { c.Heads = 2 })},
		{"dk", "want nothing for the vector stream, got 3: remove it or change model.stream", tinyVector(func(c *models.Config) { c.Dk = 3 })},
		{"dv", "want nothing for the vector stream, got 3: remove it or change model.stream", tinyVector(func(c *models.Config) { c.Dv = 3 })},
		{"rank", "want nothing for the vector stream, got 3: remove it or change model.stream", tinyVector(func(c *models.Config) { c.Rank = 3 })},
		{"positions", "rope wants an even head size, got 5", tinyVector(func(c *models.Config) { c.Positions = models.PositionsRoPE })},
		{"positions", "rope wants an even head size, got 7", tinyMatrix(func(c *models.Config) { c.Positions, c.Dv = models.PositionsRoPE, 7 })},
	}
}

func badChoices() []refusal {
	return []refusal{
		{"norm", `want one of [layernorm rmsnorm], got "batchnorm"`, tinyMatrix(func(c *models.Config) { c.Norm = "batchnorm" })},
		{"positions", `want one of [learned alibi rope none], got "sinus"`, tinyMatrix(func(c *models.Config) { c.Positions = "sinus" })},
		{"gelu", `want one of [tanh exact], got "relu"`, tinyMatrix(func(c *models.Config) { c.Gelu = "relu" })},
		{"init", `want one of [paper lecun], got "he"`, tinyMatrix(func(c *models.Config) { c.Init = "he" })},
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
		{"dropout", "want a rate in [0, 1), got NaN", tinyMatrix(func(c *models.Config) { c.Dropout = nan })},
		{"head_dim", "want >= 1, or 0 for d_model/heads, got -1", tinyVector(func(c *models.Config) { c.HeadSize = -1 })},
		{"head_dim", "want nothing for the matrix stream, got 4: remove it or change model.stream", tinyMatrix(func(c *models.Config) { c.HeadSize = 4 })},
		{"init_std", "want a finite number > 0, got -1", tinyMatrix(func(c *models.Config) { c.InitStd = -1 })},
		{"init_std", "want a finite number > 0, got NaN", tinyMatrix(func(c *models.Config) { c.InitStd = nan })},
		{"init_std", "want a finite number > 0, got +Inf", tinyMatrix(func(c *models.Config) { c.InitStd = math.Inf(1) })},
		{"init_std", "want nothing with init lecun, whose numerator is 1, got 0.5: remove it or set init to paper", tinyMatrix(func(c *models.Config) { c.Init, c.InitStd = models.InitLeCun, 0.5 })},
		{"embedding_std", "want a finite number > 0, got -1", tinyMatrix(func(c *models.Config) { c.EmbeddingStd = -1 })},
		{"embedding_std", "want a finite number > 0, got NaN", tinyMatrix(func(c *models.Config) { c.EmbeddingStd = nan })},
		{"rope_base", "want > 1 and positions rope, got 10000 with positions learned", tinyMatrix(func(c *models.Config) { c.RopeBase = 1e4 })},
		{"rope_base", "want > 1 and positions rope, got 1 with positions rope", tinyMatrix(func(c *models.Config) { c.Positions, c.RopeBase = models.PositionsRoPE, 1 })},
		{"rope_base", "want > 1 and positions rope, got NaN with positions rope", tinyMatrix(func(c *models.Config) { c.Positions, c.RopeBase = models.PositionsRoPE, nan })},
		{"bias", "rmsnorm has no bias: set bias to false or norm to layernorm", tinyMatrix(func(c *models.Config) { c.Norm, c.Bias = models.NormRMS, true })},
		{"z_loss", "want a finite number >= 0, got -1", tinyMatrix(func(c *models.Config) { c.ZLoss = -1 })},
		{"z_loss", "want a finite number >= 0, got NaN", tinyMatrix(func(c *models.Config) { c.ZLoss = nan })},
		{"mask_documents", "want a BOS id below the vocabulary 13, got 13", tinyMatrix(func(c *models.Config) { c.MaskDocuments, c.BOS = true, 13 })},
		{"mask_documents", "want a BOS id below the vocabulary 13, got -1", tinyMatrix(func(c *models.Config) { c.MaskDocuments, c.BOS = true, -1 })},
	}
}

func badMuP() []refusal {
	matrix := func(m models.MuP) models.Config { return tinyMatrix(func(c *models.Config) { c.MuP = &m }) }
	vector := func(m models.MuP) models.Config { return tinyVector(func(c *models.Config) { c.MuP = &m }) }
	return []refusal{
		{"mup.base_d_model", "want >= 1, got -1", vector(models.MuP{BaseDModel: -1})},
		{"mup.base_heads", "want >= 1, got -1", vector(models.MuP{BaseHeads: -1})},
		{"mup.base_head_dim", "want >= 1, got -1", vector(models.MuP{BaseHeadDim: -1})},
		{"mup.base_dk", "want >= 1, got -1", matrix(models.MuP{BaseDk: -1})},
		{"mup.base_dv", "want >= 1, got -1", matrix(models.MuP{BaseDv: -1})},
		{"mup.base_rank", "want >= 1, got -1", matrix(models.MuP{BaseRank: -1})},
		{"mup.base_ff", "want >= 1, got -1", matrix(models.MuP{BaseFF: -1})},
		{"mup.base_d_model", "want nothing for the matrix stream, got 4: remove it", matrix(models.MuP{BaseDModel: 4})},
		{"mup.base_heads", "want nothing for the matrix stream, got 4: remove it", matrix(models.MuP{BaseHeads: 4})},
		{"mup.base_head_dim", "want nothing for the matrix stream, got 4: remove it", matrix(models.MuP{BaseHeadDim: 4})},
		{"mup.base_dk", "want nothing for the vector stream, got 4: remove it", vector(models.MuP{BaseDk: 4})},
		{"mup.base_dv", "want nothing for the vector stream, got 4: remove it", vector(models.MuP{BaseDv: 4})},
		{"mup.base_rank", "want nothing for the vector stream, got 4: remove it", vector(models.MuP{BaseRank: 4})},
		{"mup.input_multiplier", "want a finite number > 0, got -1", matrix(models.MuP{InputMultiplier: -1})},
		{"mup.output_multiplier", "want a finite number > 0, got -2", matrix(models.MuP{OutputMultiplier: -2})},
		{"mup.attn_multiplier", "want a finite number > 0, got NaN", vector(models.MuP{AttnMultiplier: math.NaN()})},
	}
}

// TestValidateRefuses: each bad config has one field and message, and New refuses it.
func TestValidateRefuses(t *testing.T) {
	for _, refusals := range [][]refusal{badShapes(), badChoices(), badNumbers(), badMuP(), badZoo(), badExperts()} {
		for _, r := range refusals {
			err := r.bad.Validate()
			var field *models.FieldError
			if assert.True(t, errors.As(err, &field), "%s: %v", r.field, err) {
				assert.Equal(t, r.field, field.Field)
				assert.Equal(t, r.problem, field.Problem, r.field)
				assert.EqualError(t, err, "model."+r.field+": "+r.problem)
			}
			assert.NotContains(t, r.problem, "\n", "%s: one line", r.field)
			_, built := models.New(gorgonia.NewGraph(), r.bad)
			assert.Equal(t, err, built, "%s: New says the same", r.field)
		}
	}
}

// TestValidateNamesTheFirst: of several bad fields the first in reading order is named.
func TestValidateNamesTheFirst(t *testing.T) {
	c := models.Config{Stream: models.StreamMatrix, Layers: 1, Dk: 2, Dv: 2, FF: 0, Norm: "x", Dropout: 2}
	require.EqualError(t, c.Validate(), "model.rank: want >= 1, got 0")
	c.Rank = 1
	require.EqualError(t, c.Validate(), "model.ff: want >= 1, got 0")
	c.FF, c.Vocab, c.Seq = 1, 1, 1
	require.EqualError(t, c.Validate(), `model.norm: want one of [layernorm rmsnorm], got "x"`)
	c.Norm = ""
	require.EqualError(t, c.Validate(), "model.dropout: want a rate in [0, 1), got 2")
	c.Dropout = 0
	require.NoError(t, c.Validate())
}

// TestResolve: zero fields take the documented defaults, others stay, a second time
// changes nothing.
func TestResolve(t *testing.T) {
	c := tinyMatrix(func(*models.Config) {}).Resolve()
	want := tinyMatrix(func(c *models.Config) {
		c.Norm, c.NormEps, c.Positions, c.Gelu, c.Init, c.InitStd, c.EmbeddingStd = "layernorm", 1e-6, "learned", "tanh", "paper", 0.02, 0.02
	})
	assert.Equal(t, want, c)
	assert.Equal(t, c, c.Resolve())
	rope := tinyMatrix(func(c *models.Config) { c.Positions = models.PositionsRoPE })
	assert.Equal(t, 1e4, rope.Resolve().RopeBase)
	rope.RopeBase = 500
	assert.Equal(t, 500.0, rope.Resolve().RopeBase)
}
