package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// tinyMatrix and tinyVector return configs of odd sizes, changed by f.
func tinyMatrix(f func(c *models.Config)) models.Config {
	c := models.Config{Stream: stream.MatrixConfig{Dk: 5, Dv: 6, Rank: 3}, Layers: 2, FeedForward: gelu(11), Vocab: 13, Seq: 9}
	f(&c)
	return c
}

func tinyVector(f func(c *models.Config)) models.Config {
	c := models.Config{Stream: vectorOf(15), Attention: models.Attention{Heads: 3}, Layers: 2, FeedForward: gelu(17), Vocab: 13, Seq: 9}
	f(&c)
	return c
}

// tinyZoo returns tinyVector on another stream, of the same width if the stream sets none.
func tinyZoo(d stream.Design, f func(c *models.Config)) models.Config {
	c := tinyVector(plainly).OnStream(d)
	f(&c)
	return c
}

// plainly changes nothing.
func plainly(*models.Config) {}

func vectorOf(d int) stream.VectorConfig { return stream.VectorConfig{Vectors: width(d)} }

// width returns the settings of a stream of vectors of width d.
func width(d int) stream.Vectors { return stream.Vectors{D: d} }

func gelu(hidden int) layers.GELUConfig { return layers.GELUConfig{Hidden: hidden} }

// experts returns a change that makes the feed-forward a mixture, of experts as wide as the
// feed-forward was.
func experts(n, k int) func(c *models.Config) {
	return func(c *models.Config) {
		c.FeedForward = layers.MoEConfig{Hidden: c.FeedForward.Shape().Hidden, Experts: n, TopK: k}
	}
}

// all returns a change that makes the given changes one after another.
func all(vary ...func(c *models.Config)) func(c *models.Config) {
	return func(c *models.Config) {
		for _, f := range vary {
			f(c)
		}
	}
}

func biased(c *models.Config) { c.Bias = true }

// conformanceCase is a model for the conformance suite.
type conformanceCase struct {
	name   string
	config models.Config
}

// checkConformance runs the suite on the first few cases, with long tests on every second one, too,
// and on all if all tests run.
func checkConformance(t *testing.T, few int, cases []conformanceCase) {
	for i, c := range cases {
		if i < few || longtest.Enabled() && i%2 == 0 || longtest.Exhaustive() {
			modeltest.RunIdle(t, c.name, c.config, idle)
		}
	}
}

// TestConformance runs the conformance suite on every option of a model on a matrix stream, and on
// a vector stream with the options of blocks that matrix streams lack.
func TestConformance(t *testing.T) {
	t.Parallel()
	checkConformance(t, 3, []conformanceCase{
		{"matrix/authors", tinyMatrix(authors)},
		{"matrix/mup", tinyMatrix(matrixMuP)},
		{"vector/gpt2", tinyVector(func(c *models.Config) { tied(c); c.Bias, c.NormEps = true, 1e-5 })},
		{"matrix/rope-exact-lecun", tinyMatrix(ropeExactLeCun)},
		{"matrix/no-positions-bias", tinyMatrix(noPositionsBias)},
		{"matrix/tied", tinyMatrix(tied)},
		{"matrix/dropout", tinyMatrix(dropoutBias)},
		{"matrix/smallest", tinyMatrix(func(c *models.Config) {
			c.Stream, c.Layers, c.FeedForward, c.Seq = stream.MatrixConfig{Dk: 9, Dv: 7, Rank: 1}, 1, gelu(9), 6
		})},
		{"vector/mup", tinyVector(vectorMuP)},
		{"matrix/shared-heads", tinyMatrix(sharedHeads)},
		{"vector/shared-heads", tinyVector(func(c *models.Config) {
			c.Attention, c.Bias = models.Attention{Heads: 4, KVHeads: 2, HeadDim: 4, Positions: models.PositionsRoPE}, true
		})},
		{"matrix/prepared", tinyMatrix(preparedHeads)},
		{"vector/prepared", tinyVector(func(c *models.Config) {
			c.Attention = models.Attention{Heads: 4, KVHeads: 2, HeadDim: 4, Positions: models.PositionsRoPE}
			preparedHeads(c)
		})},
		{"vector/value-residual", tinyVector(func(c *models.Config) { c.Attention.ValueResidual, c.Layers = models.ValuesFixed, 3 })},
		{"vector/head-dim", tinyVector(func(c *models.Config) { c.Attention.HeadDim, c.Bias = 4, true })},
	})
}

// TestConformancePresets runs the suite on the zoo's small presets: unless all tests run, on one of
// each design.
func TestConformancePresets(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, p := range modeltest.Small(models.Standard()) {
		if name := p.Config.Stream.Name(); !covered[name] || longtest.Exhaustive() {
			covered[name] = true
			modeltest.RunIdle(t, p.Name, p.Config, idle)
		}
	}
	for _, name := range models.Standard().StreamNames() {
		assert.True(t, covered[name], "%s: want a preset of 4 blocks", name)
	}
}

// designCases returns the models that the designs' files list.
func designCases(t *testing.T, long bool) (cases []conformanceCase) {
	for design, rows := range designrows.Read[map[string]conformanceRow](t, "conformance") {
		for name, r := range rows {
			if r.Long == long {
				cases = append(cases, conformanceCase{design + "/" + name, tinyOn(t, design, r.Model)})
			}
		}
	}
	return cases
}

// TestConformanceZoo runs the suite on settings of the vector stream, of mixtures of experts and of
// the other streams that no small preset has.
func TestConformanceZoo(t *testing.T) {
	t.Parallel()
	checkConformance(t, 2, append([]conformanceCase{
		{"vector/both-options", tinyVector(all(withOptions(true, "neutral"), withFeedForward(layers.SwiGLUConfig{Hidden: 7})))},
		{"moe/top-2", tinyVector(experts(4, 2))},
		{"vector/soft-cap", tinyVector(func(c *models.Config) { c.LogitSoftcap = 5 })},
		{"none/matrix", tinyMatrix(all(withFeedForward(layers.NoFeedForward{}), sharedHeads))},
		{"vector/layerscale", tinyVector(all(withOptions(true, ""), dropoutBias))},
		{"vector/x0", tinyVector(withOptions(false, "nanochat"))},
		{"swiglu/bias", tinyVector(all(withFeedForward(layers.SwiGLUConfig{Hidden: 7}), biased))},
		{"swiglu/matrix", tinyMatrix(withFeedForward(layers.SwiGLUConfig{Hidden: 7}))},
		{"relu2/bias", tinyVector(all(withFeedForward(layers.ReLU2Config{Hidden: 4}), biased))},
		{"relu/matrix", tinyMatrix(withFeedForward(layers.ReLUConfig{Hidden: 4}))},
		{"none/vector", tinyVector(all(withFeedForward(layers.NoFeedForward{}), withOptions(true, "neutral"), biased))},
		{"moe/top-1-bias", tinyVector(all(experts(3, 1), biased))},
		{"moe/raw", tinyVector(func(c *models.Config) {
			c.FeedForward = layers.MoEConfig{Hidden: 7, Experts: 4, TopK: 2, RawGates: true}
		})},
		{"moe/matrix", tinyMatrix(experts(3, 2))},
	}, designCases(t, false)...))
}

// TestConformanceLong runs the suite on more options of more streams.
func TestConformanceLong(t *testing.T) {
	t.Parallel()
	checkConformance(t, 0, append(designCases(t, true), []conformanceCase{
		{"matrix/paper", tinyMatrix(plainly)},
		{"vector/paper", tinyVector(plainly)},
		{"vector/authors", tinyVector(authors)},
		{"vector/rope-exact-lecun", tinyVector(func(c *models.Config) { ropeExactLeCun(c); c.Stream = vectorOf(18) })},
		{"vector/no-positions-bias", tinyVector(noPositionsBias)},
		{"vector/dropout", tinyVector(dropoutBias)},
		{"vector/smallest", tinyVector(func(c *models.Config) {
			c.Stream, c.Attention.Heads, c.Layers, c.FeedForward, c.Seq = vectorOf(7), 1, 1, gelu(9), 6
		})},
	}...))
}

// authors gives a config the options of the RMT authors' code.
func authors(c *models.Config) {
	c.Norm, c.Attention.Positions, c.Attention.InverseLayerScaling = models.NormRMS, models.PositionsALiBi, true
	c.MaskDocuments, c.BOS = true, 4
}

func ropeExactLeCun(c *models.Config) {
	c.Attention.Positions, c.Attention.RopeBase, c.Gelu, c.Init = models.PositionsRoPE, 100, models.GeluExact, models.InitLeCun
	c.MaskDocuments, c.Layers = true, 3
}

func noPositionsBias(c *models.Config) {
	c.Attention.Positions, c.Bias, c.Init = models.PositionsNone, true, models.InitLeCun
}

func tied(c *models.Config) { c.TieEmbeddings, c.Attention.InverseLayerScaling = true, true }

func dropoutBias(c *models.Config) { c.Dropout, c.Bias, c.Norm = 0.05, true, models.NormLayer }

func matrixMuP(c *models.Config) {
	authors(c)
	c.MuP = &models.MuP{Base: models.MuPBase{Stream: stream.MatrixConfig{Dk: 3, Dv: 4, Rank: 2}, FeedForward: gelu(6)},
		InputMultiplier: 2.5, OutputMultiplier: 1.7, AttnMultiplier: 1.3}
}

func vectorMuP(c *models.Config) {
	authors(c)
	c.MuP = &models.MuP{Base: models.MuPBase{Stream: vectorOf(10), Attention: models.BaseHeads{Heads: 2, HeadDim: 4}, FeedForward: gelu(8)},
		InputMultiplier: 1.5, OutputMultiplier: 0.8, AttnMultiplier: 1.2}
}
