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

// TestConformanceZoo is the suite over the other streams and mixtures of experts.
func TestConformanceZoo(t *testing.T) {
	for _, row := range []struct {
		name   string
		config models.Config
	}{
		{"hyper/static", tinyZoo(models.StreamHyper, func(c *models.Config) { c.N = 3 })},
		{"hyper/dynamic", tinyZoo(models.StreamHyper, func(c *models.Config) { c.N, c.Dynamic = 4, true })},
		{"hyper/authors", tinyZoo(models.StreamHyper, func(c *models.Config) { authors(c); c.N, c.Dynamic = 2, true })},
		{"hyper/one", tinyZoo(models.StreamHyper, func(c *models.Config) { c.N, c.Layers, c.Bias = 1, 1, true })},
		{"mhc/paper", tinyZoo(models.StreamMHC, func(c *models.Config) { c.N = 4 })},
		{"mhc/bias-dropout", tinyZoo(models.StreamMHC, func(c *models.Config) { dropoutBias(c); c.N, c.SinkhornIterations = 3, 5 })},
		{"mhc-lite/paper", tinyZoo(models.StreamMHCLite, func(c *models.Config) { c.N = 3 })},
		{"mhc-lite/tied", tinyZoo(models.StreamMHCLite, func(c *models.Config) { tied(c); c.N = 2 })},
		{"hyper/one-dynamic", tinyZoo(models.StreamHyper, func(c *models.Config) { c.N, c.Dynamic = 1, true })},
		{"vwn/groups", tinyZoo(models.StreamVWN, func(c *models.Config) { c.M, c.N = 3, 6 })},
		{"vwn/fraction", tinyZoo(models.StreamVWN, func(c *models.Config) { c.DModel, c.M, c.N = 18, 2, 3 })},
		{"vwn/expand-bias", tinyZoo(models.StreamVWN, func(c *models.Config) { c.M, c.N, c.ExpandEmbedding, c.Bias = 5, 7, true, true })},
		{"highway/paper", tinyZoo(models.StreamHighway, func(c *models.Config) {})},
		{"highway/bias-dropout", tinyZoo(models.StreamHighway, dropoutBias)},
		{"hieragg/paper", tinyZoo(models.StreamHierAgg, func(c *models.Config) { c.Inner = 7 })},
		{"hieragg/bias", tinyZoo(models.StreamHierAgg, func(c *models.Config) { noPositionsBias(c); c.Layers = 4 })},
		{"hieragg/separate", tinyZoo(models.StreamHierAgg, func(c *models.Config) { c.Layers, c.Inner, c.SeparateAggregates, c.Bias = 4, 5, true, true })},
		{"dwlstm/paper", tinyZoo(models.StreamDWLSTM, func(c *models.Config) { c.FF = 0 })},
		{"dwlstm/bias-exact", tinyZoo(models.StreamDWLSTM, func(c *models.Config) { c.Bias, c.FF, c.Gelu = true, 0, models.GeluExact })},
		{"moe/top-2", tinyVector(func(c *models.Config) { c.Experts, c.TopK, c.BalanceLoss, c.RouterZLoss = 4, 2, 0.01, 1e-3 })},
		{"moe/top-1-bias", tinyVector(func(c *models.Config) { c.Experts, c.TopK, c.Bias = 3, 1, true })},
		{"moe/matrix", tinyMatrix(func(c *models.Config) { c.Experts, c.TopK = 3, 2 })},
		{"moe/hyper", tinyZoo(models.StreamHyper, func(c *models.Config) { c.Experts, c.TopK, c.N, c.Dynamic = 3, 2, 2, true })},
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

// tinyZoo is tinyVector on another stream.
func tinyZoo(stream string, f func(c *models.Config)) models.Config {
	return tinyVector(func(c *models.Config) {
		c.Stream = stream
		f(c)
	})
}
