package models_test

import (
	"testing"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// tinyMatrix and tinyVector are configs of odd sizes, varied by f.
func tinyMatrix(f func(c *models.Config)) models.Config {
	c := models.Config{Stream: models.StreamMatrix, Layers: 2, Dk: 5, Dv: 6, Rank: 3, FF: 11, Vocab: 13, Seq: 9}
	f(&c)
	return c
}

func tinyVector(f func(c *models.Config)) models.Config {
	c := models.Config{Stream: models.StreamVector, Layers: 2, DModel: 15, Heads: 3, FF: 17, Vocab: 13, Seq: 9}
	f(&c)
	return c
}

// TestConformance is the suite over both streams and every option. A new stream adds rows.
func TestConformance(t *testing.T) {
	for _, row := range []struct {
		name   string
		config models.Config
	}{
		{"matrix/paper", tinyMatrix(func(c *models.Config) { c.ZLoss = 1e-4 })},
		{"matrix/authors", tinyMatrix(authors)},
		{"matrix/rope-exact-lecun", tinyMatrix(ropeExactLeCun)},
		{"matrix/no-positions-bias", tinyMatrix(noPositionsBias)},
		{"matrix/tied", tinyMatrix(tied)},
		{"matrix/mup", tinyMatrix(matrixMuP)},
		{"matrix/dropout", tinyMatrix(dropoutBias)},
		{"matrix/smallest", tinyMatrix(func(c *models.Config) { c.Layers, c.Dk, c.Dv, c.Rank, c.FF, c.Seq = 1, 9, 7, 1, 9, 6 })},
		{"vector/paper", tinyVector(func(c *models.Config) { c.ZLoss = 1e-4 })},
		{"vector/authors", tinyVector(authors)},
		{"vector/rope-exact-lecun", tinyVector(func(c *models.Config) { ropeExactLeCun(c); c.DModel = 18 })},
		{"vector/no-positions-bias", tinyVector(noPositionsBias)},
		{"vector/gpt2", tinyVector(func(c *models.Config) { tied(c); c.Bias, c.NormEps = true, 1e-5 })},
		{"vector/mup", tinyVector(vectorMuP)},
		{"vector/head-dim", tinyVector(func(c *models.Config) { c.HeadSize, c.Bias = 4, true })},
		{"vector/dropout", tinyVector(dropoutBias)},
		{"vector/smallest", tinyVector(func(c *models.Config) { c.Layers, c.DModel, c.Heads, c.FF, c.Seq = 1, 7, 1, 9, 6 })},
	} {
		modeltest.Run(t, row.name, row.config)
	}
}

// authors is the form of the RMT authors' code.
func authors(c *models.Config) {
	c.Norm, c.Positions, c.InverseLayerScaling, c.ZLoss = models.NormRMS, models.PositionsALiBi, true, 1e-4
	c.MaskDocuments, c.BOS = true, 4
}

func ropeExactLeCun(c *models.Config) {
	c.Positions, c.RopeBase, c.Gelu, c.Init = models.PositionsRoPE, 100, models.GeluExact, models.InitLeCun
	c.MaskDocuments, c.Layers = true, 3
}

func noPositionsBias(c *models.Config) {
	c.Positions, c.Bias, c.Init = models.PositionsNone, true, models.InitLeCun
}

func tied(c *models.Config) { c.TieEmbeddings, c.InverseLayerScaling, c.ZLoss = true, true, 1e-3 }

func dropoutBias(c *models.Config) { c.Dropout, c.Bias, c.Norm = 0.05, true, models.NormLayer }

func matrixMuP(c *models.Config) {
	authors(c)
	c.MuP = &models.MuP{BaseDk: 3, BaseDv: 4, BaseRank: 2, BaseFF: 6, InputMultiplier: 2.5, OutputMultiplier: 1.7, AttnMultiplier: 1.3}
}

func vectorMuP(c *models.Config) {
	authors(c)
	c.MuP = &models.MuP{BaseDModel: 10, BaseHeads: 2, BaseHeadDim: 4, BaseFF: 8, InputMultiplier: 1.5, OutputMultiplier: 0.8, AttnMultiplier: 1.2}
}
