package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// tiny is a model that the suite can run some thousand times.
func tiny(start float64) models.Config {
	return models.Config{
		Stream: LayerScale{Vectors: stream.Vectors{D: 12}, Start: start},
		Layers: 2, Vocab: 13, Seq: 8, BOS: 12, Init: models.InitLeCun,
		Attention: models.Attention{Heads: 3}, FeedForward: layers.GELUConfig{Hidden: 20},
	}
}

// TestConformance runs Residua's suite: shapes, causality, gradients against finite differences and
// against gorgonia.Grad, recomputation, dropout, caches, files, costs, learning, and with gains of 1
// that the model is a plain transformer.
func TestConformance(t *testing.T) {
	modeltest.Run(t, "small start", tiny(0))
	all := tiny(1)
	all.Bias, all.TieEmbeddings, all.Dropout, all.Attention.Positions = true, true, 0.2, models.PositionsRoPE
	modeltest.Run(t, "start 1", all)
}

// TestChecks: a bad setting is an error that names its key, and what is left out has its default.
func TestChecks(t *testing.T) {
	_, err := tiny(-1).Resolve()
	require.EqualError(t, err, "model.stream.start: want above 0 and at most 1, got -1")
	c := tiny(0)
	c.Attention.Heads = 5
	_, err = c.Resolve()
	require.ErrorContains(t, err, "model.attention.heads: want a divisor of d_model 12, got 5")
	assert.Equal(t, 0.1, modeltest.Resolve(t, tiny(0)).Stream.(LayerScale).Start)
}
