package models_test

import (
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// gemmaBlocks gives a config the options of Gemma's blocks.
func gemmaBlocks(c *models.Config) {
	c.Norm, c.Norms, c.FeedForward, c.EmbeddingScale, c.TieEmbeddings, c.LogitSoftcap = models.NormRMS, stream.NormsBoth, layers.SwiGLUConfig{Hidden: 7, Gate: layers.GateGELU}, 1.5, true, 4
	c.Attention.Scale, c.Attention.Softcap, c.Attention.HeadDim, c.Attention.Positions = 0.3, 0.8, 4, models.PositionsRoPE
}

// neoxBlocks gives a config the options of GPT-NeoX's blocks.
func neoxBlocks(c *models.Config) {
	c.Parallel, c.Bias = true, true
	c.Attention.Positions, c.Attention.HeadDim, c.Attention.RopePart = models.PositionsRoPE, 8, 0.5
}

// graniteBlocks gives a config factors, and biases that a norm without bias leaves.
func graniteBlocks(c *models.Config) {
	c.Norm, c.EmbeddingScale, c.ResidualScale, c.LogitScale, c.Attention.Scale = models.NormRMS, 3, 0.4, 0.5, 0.2
	c.FeedForward, c.FFBias, c.Attention.Bias = layers.SwiGLUConfig{Hidden: 7}, true, stream.HeadBiasesQKV
}

// olmoBlocks gives a config norms after sublayers, over the row of all queries and keys, and a
// block without positions.
func olmoBlocks(c *models.Config) {
	c.Norm, c.Norms = models.NormRMS, stream.NormsAfter
	c.Attention = models.Attention{Heads: 4, KVHeads: 2, HeadDim: 4, Positions: models.PositionsRoPE, QKNorm: true, QKNormOver: "row", NoRope: []int{1}, Bias: stream.HeadBiasesAll}
}

// TestConformanceBlocks runs the suite on the options of blocks.
func TestConformanceBlocks(t *testing.T) {
	t.Parallel()
	checkConformance(t, 4, []conformanceCase{
		{"gemma", tinyVector(gemmaBlocks)},
		{"neox", tinyVector(neoxBlocks)},
		{"granite", tinyVector(graniteBlocks)},
		{"olmo", tinyVector(olmoBlocks)},
		{"parallel, x0", tinyVector(all(neoxBlocks, withOptions(true, "neutral")))},
		{"matrix", tinyMatrix(func(c *models.Config) {
			c.Parallel, c.ResidualScale, c.Attention.Softcap, c.Attention.Scale, c.FeedForward = true, 0.5, 0.7, 0.4, layers.SwiGLUConfig{Hidden: 7, Gate: layers.GateGELU}
		})},
	})
}

// TestBlockOptionsOfEveryStream: each stream of vectors has norms after its sublayers, a residual
// scale and biases around attention, as its cost and its decomposition say, or refuses them by
// name.
func TestBlockOptionsOfEveryStream(t *testing.T) {
	t.Parallel()
	refused := map[string]bool{}
	for _, base := range zooBases(t) {
		for key, change := range map[string]func(c *models.Config){
			"norms":          func(c *models.Config) { c.Norms = stream.NormsBoth },
			"norms: after":   func(c *models.Config) { c.Norms, c.Norm = stream.NormsAfter, models.NormRMS },
			"residual_scale": func(c *models.Config) { c.ResidualScale = 0.5 },
			"attention.bias": func(c *models.Config) { c.Attention.Bias = stream.HeadBiasesAll },
		} {
			c, name := base, base.Stream.Name()+" "+key
			change(&c)
			var bad *models.FieldError
			if _, err := c.Resolve(); errors.As(err, &bad) {
				refused[base.Stream.Name()+" "+bad.Field] = true
				continue
			}
			modeltest.RunChecks(t, name, c, idle, "cost", "decomposition", "gradients")
		}
	}
	assert.Equal(t, map[string]bool{"dwlstm norms": true, "dwlstm residual_scale": true, "mudd norms": true, "gated-residual norms": true}, refused)
}

// TestBlockOptionsAreRefused lists settings of blocks that no model can have.
func TestBlockOptionsAreRefused(t *testing.T) {
	for want, change := range map[string]func(c *models.Config){
		"model.norms: want one of [before after both], got \"none\"":                                                                                      func(c *models.Config) { c.Norms = "none" },
		"model.attention.bias: want one of [none qkv all], got \"q\"":                                                                                     func(c *models.Config) { c.Attention.Bias = "q" },
		"model.attention.qk_norm_over: want qk_norm with it, got row without":                                                                             func(c *models.Config) { c.Attention.QKNormOver = "row" },
		"model.residual_scale: want a finite number > 0, or 0 for none, got -1":                                                                           func(c *models.Config) { c.ResidualScale = -1 },
		"model.parallel: want false for blocks without a feed-forward, got true":                                                                          func(c *models.Config) { c.Parallel, c.FeedForward = true, layers.NoFeedForward{} },
		"model.attention.no_rope: want positions rope with it, got positions learned":                                                                     func(c *models.Config) { c.Attention.NoRope = []int{0} },
		"model.attention.rope_part: want positions rope, and a share between 0 and 1 of at least one of 2 pairs, or 0 for all, got 1 with positions rope": func(c *models.Config) { gemmaBlocks(c); c.Attention.RopePart = 1 },
		"model.attention.no_rope: want blocks from 0 to 1, each once and rising, got [1 0]":                                                               func(c *models.Config) { gemmaBlocks(c); c.Attention.NoRope = []int{1, 0} },
	} {
		_, err := tinyVector(change).Resolve()
		assert.EqualError(t, err, want)
	}
	for want, c := range map[string]models.Config{
		"model.norms: want before for the matrix stream, which has nothing else":        tinyMatrix(func(c *models.Config) { c.Norms = stream.NormsBoth }),
		"model.attention.bias: want none for the matrix stream, which has nothing else": tinyMatrix(func(c *models.Config) { c.Attention.Bias = stream.HeadBiasesAll }),
	} {
		_, err := c.Resolve()
		assert.EqualError(t, err, want)
	}
	for _, c := range zooBases(t) {
		c.Parallel = true
		_, err := c.Resolve()
		assert.ErrorContains(t, err, "model.parallel: want false for", c.Stream.Name())
	}
}
