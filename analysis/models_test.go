package analysis_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// zoo are small models of every stream, with and without biases. A design without a row has its
// small preset.
func zoo(t *testing.T) map[string]models.Spec {
	all := vectorZoo()
	maps.Copy(all, matrixZoo())
	rows := map[string]bool{}
	for _, c := range all {
		rows[c.Stream.Name()] = true
	}
	for _, p := range modeltest.Small(models.Standard()) {
		if !rows[p.Config.Stream.Name()] {
			all[p.Name] = p.Config
		}
	}
	return resolved(t, all)
}

// TestZoo: every design is taken apart: its writers' terms add up to its end, to what its sites
// read, and to its logits.
func TestZoo(t *testing.T) {
	rows := map[string]int{}
	for _, c := range zoo(t) {
		rows[c.Stream.Name()]++
	}
	for _, name := range models.Standard().StreamNames() {
		assert.Positive(t, rows[name], "%s: want a preset of 4 blocks", name)
	}
}

func matrixZoo() map[string]models.Config {
	return map[string]models.Config{
		"matrix": tinyMatrix(plain), "matrix/bias": tinyMatrix(biased),
		"matrix/authors":        tinyMatrix(authors),
		"matrix/moe":            tinyMatrix(experts(3, 2)),
		"matrix/swiglu":         tinyMatrix(swiGLU),
		"matrix/attention-only": tinyMatrix(attentionOnly),
		"matrix/dynamic": tinyMatrix(func(c *models.Config) {
			c.Stream, c.Bias = stream.DynamicMatrixConfig(c.Stream.(stream.MatrixConfig)), true
		}),
		"matrix/one": tinyMatrix(func(c *models.Config) { c.Layers, c.Attention.Positions = 1, models.PositionsNone }),
	}
}

func vectorZoo() map[string]models.Config {
	one := func(c *models.Config) { c.Layers = 1 }
	return map[string]models.Config{
		"vector":                tiny(vectorOf(12), plain),
		"vector/gpt2":           tiny(vectorOf(12), func(c *models.Config) { c.Bias, c.TieEmbeddings, c.Attention.HeadDim = true, true, 5 }),
		"vector/moe":            tiny(vectorOf(12), all(experts(4, 2), biased)),
		"vector/swiglu":         tiny(vectorOf(12), swiGLU),
		"vector/attention-only": tiny(vectorOf(12), all(attentionOnly, biased)),
		"vector/gains": tiny(stream.VectorConfig{LayerScale: true}, func(c *models.Config) {
			c.Attention.QKNorm, c.Attention.ValueResidual = true, models.ValuesLearned
		}),
		"hyper/static":  tiny(stream.HyperConfig{N: 3}, plain),
		"hyper/dynamic": tiny(stream.HyperConfig{N: 4, Dynamic: true}, biased),
		"mhc":           tiny(stream.MHCConfig{}, plain),
		"mhc-lite":      tiny(stream.MHCLiteConfig{N: 3}, func(c *models.Config) { c.Attention.Positions = models.PositionsRoPE }),
		"kromhc":        tiny(stream.KromHCConfig{}, biased),
		"gated":         tiny(stream.GatedResidualConfig{N: 3, Rank: 5}, biased),
		"gated/rms":     tiny(stream.GatedResidualConfig{N: 2, Rank: 2}, func(c *models.Config) { c.Layers, c.NormEps, c.Norm = 1, 0.1, models.NormRMS }),
		"wide":          tiny(stream.WideConfig{N: 3, Retention: true}, biased),
		"wide/latent":   tiny(stream.WideConfig{Form: "latent", Width: 20}, biased),
		"vwn":           tiny(stream.VWNConfig{M: 3, N: 6}, plain),
		"vwn/expand":    tiny(stream.VWNConfig{M: 2, N: 3, Expand: true}, biased),
		"highway":       tiny(stream.HighwayConfig{}, biased),
		"hieragg":       tiny(stream.HieraggConfig{Inner: 7}, plain),
		"hieragg/dou":   tiny(stream.HieraggConfig{Inner: 5, Separate: true}, biased),
		"dwlstm":        tiny(stream.DWLSTMConfig{}, plain),
		"dwlstm/bias":   tiny(stream.DWLSTMConfig{}, biased),
		"dwlstm/rms":    tiny(stream.DWLSTMConfig{}, func(c *models.Config) { c.Norm = models.NormRMS }),
		"denseformer":   tiny(stream.DenseFormerConfig{}, plain),
		"denseformer/2": tiny(stream.DenseFormerConfig{Dilation: 2, Period: 2}, biased),
		"mudd":          tiny(stream.MUDDConfig{ExpandLast: true}, biased),
		"mudd/prepost":  tiny(stream.MUDDConfig{PrePost: true}, plain),
		"attnres":       tiny(stream.AttnResConfig{}, plain),
		"attnres/block": tiny(stream.AttnResConfig{Block: 3}, biased),
		"attnres/delta": tiny(stream.AttnResConfig{Delta: true}, plain),
		"attnres/gate":  tiny(stream.AttnResConfig{Block: 2, Delta: true, Gate: true}, biased),
		"siamese":       tiny(stream.SiameseConfig{}, biased),
		"keel":          tiny(stream.KeelConfig{Alpha: 2}, biased),
		"laurel":        tiny(stream.LaurelConfig{Rank: 3}, plain),
		"two-lane":      tiny(stream.TwoLaneConfig{Split: 1}, biased),
		"laurel/all":    tiny(stream.LaurelConfig{Weights: "sigmoid", WeightScale: 1.5, Rank: 2, Previous: 3}, biased),
		"laurel/gemma":  tiny(stream.LaurelConfig{Form: "gemma", Rank: 3}, biased),
		"vector/mup": tiny(vectorOf(12), func(c *models.Config) {
			c.Attention.Positions = models.PositionsNone
			c.MuP = &models.MuP{Base: models.MuPBase{Stream: vectorOf(6), Attention: models.BaseHeads{Heads: 1}, FeedForward: gelu(5)},
				OutputMultiplier: 1.7, AttnMultiplier: 1.3}
		}),
		"vector/documents": tiny(vectorOf(12), func(c *models.Config) { c.MaskDocuments, c.BOS = true, 4 }),
		"vector/one":       tiny(vectorOf(12), one),
		"mhc/one":          tiny(stream.MHCConfig{}, one),
		"dwlstm/one":       tiny(stream.DWLSTMConfig{}, one),
	}
}

// withOptions are models, a vector stream with its options, and models with loops, which the naive forms of writes and
// reads in some tests do not know.
func withOptions(t *testing.T, all map[string]models.Spec) map[string]models.Spec {
	t.Helper()
	all["vector/options"] = modeltest.Resolve(t, tiny(stream.VectorConfig{LayerScale: true, X0: "nanochat"}, func(c *models.Config) {
		c.FeedForward = layers.SwiGLUConfig{Hidden: 9}
	}))
	all["two-lane/parallel"] = modeltest.Resolve(t, tiny(stream.TwoLaneConfig{Parallel: true}, biased))
	for _, d := range []stream.Design{stream.VectorConfig{X0: "neutral"}, stream.HyperConfig{N: 2, Dynamic: true}, stream.HieraggConfig{Separate: true}, stream.DWLSTMConfig{},
		stream.DenseFormerConfig{}, stream.MUDDConfig{ExpandLast: true}, stream.AttnResConfig{Block: 3}, stream.DeepDeltaConfig{Dv: 2}, stream.SiameseConfig{}, stream.KeelConfig{},
		stream.LaurelConfig{Rank: 2, Previous: 3}, stream.TwoLaneConfig{}} {
		all["looped/"+d.Name()] = modeltest.Resolve(t, tiny(d, loopedFromTheFirst))
	}
	all["looped/delta"] = modeltest.Resolve(t, tiny(stream.AttnResConfig{Block: 3, Delta: true, Gate: true}, loopedFromTheFirst))
	all["looped/matrix"] = modeltest.Resolve(t, tinyMatrix(looped))
	return all
}

// loopedFromTheFirst makes tokens pass blocks 0 and 1 twice.
func loopedFromTheFirst(c *models.Config) {
	c.LoopBegin, c.LoopEnd, c.Loops, c.Bias = 0, 2, 2, true
}

// looped makes tokens pass block 1 twice more.
func looped(c *models.Config) { c.LoopBegin, c.LoopEnd, c.Loops = 1, 2, 3 }

// vectorModels are vector streams with every option that meets the stream.
func vectorModels(t *testing.T) map[string]models.Spec {
	with := func(f func(c *models.Config)) models.Config {
		return tiny(vectorOf(12), func(c *models.Config) { c.Layers = 3; f(c) })
	}
	mup := models.MuP{Base: models.MuPBase{Stream: vectorOf(6), Attention: models.BaseHeads{Heads: 2}, FeedForward: gelu(10)},
		InputMultiplier: 2.5, OutputMultiplier: 1.7, AttnMultiplier: 1.3}
	return resolved(t, map[string]models.Config{
		"layernorm": with(plain),
		"bias":      with(biased),
		"tied":      with(func(c *models.Config) { c.TieEmbeddings = true }),
		"looped":    with(all(looped, biased)),
		"gpt2":      with(func(c *models.Config) { c.Bias, c.TieEmbeddings, c.Attention.HeadDim, c.NormEps = true, true, 5, 0.3 }),
		"rmsnorm":   with(func(c *models.Config) { c.Norm, c.TieEmbeddings = models.NormRMS, true }),
		"alibi": with(func(c *models.Config) {
			c.Attention.Positions, c.Attention.InverseLayerScaling = models.PositionsALiBi, true
		}),
		"rope": with(func(c *models.Config) { c.Attention.Positions = models.PositionsRoPE }),
		"none/mup": with(func(c *models.Config) {
			c.Attention.Positions, c.MuP, c.TieEmbeddings = models.PositionsNone, &mup, true
		}),
		"moe": with(experts(4, 2)),
		"x0/swiglu": with(func(c *models.Config) {
			c.Stream, c.FeedForward = stream.VectorConfig{Vectors: stream.Vectors{D: 12}, X0: "nanochat"}, layers.SwiGLUConfig{Hidden: 9}
			c.Attention.QKNorm, c.Attention.ValueResidual = true, models.ValuesLearned
		}),
		"moe/bias": with(all(experts(3, 1), biased)),
		"swiglu": with(func(c *models.Config) {
			c.Norm, c.Attention.Positions, c.Attention.KVHeads, c.FeedForward = models.NormRMS, models.PositionsRoPE, 1, layers.SwiGLUConfig{Hidden: 11}
			c.Attention.QKNorm = true
		}),
		"swiglu/bias": with(all(biased, swiGLU)),
	})
}

// matrixModels are matrix streams with every option that meets the stream.
func matrixModels(t *testing.T) map[string]models.Spec {
	rms := func(c *models.Config) { c.Norm = models.NormRMS }
	return resolved(t, map[string]models.Config{
		"layernorm": tinyMatrix(plain),
		"bias":      tinyMatrix(func(c *models.Config) { c.Bias, c.TieEmbeddings = true, true }),
		"rmsnorm":   tinyMatrix(func(c *models.Config) { c.Norm, c.TieEmbeddings = models.NormRMS, true }),
		"authors":   tinyMatrix(authors),
		"looped":    tinyMatrix(looped),
		"rope":      tinyMatrix(func(c *models.Config) { c.Norm, c.Attention.Positions = models.NormRMS, models.PositionsRoPE }),
		"moe":       tinyMatrix(all(rms, experts(4, 2))),
		"swiglu":    tinyMatrix(all(rms, swiGLU)),
		"moe/bias":  tinyMatrix(all(experts(3, 1), biased)),
	})
}

// tinyMatrix is a model with a matrix stream, varied by f.
func tinyMatrix(f func(c *models.Config)) models.Config {
	c := models.Config{Stream: stream.MatrixConfig{Dk: 5, Dv: 6, Rank: 3}, Layers: 3, FeedForward: gelu(11), Vocab: 13, Seq: 9}
	f(&c)
	return c
}

// tiny is a model on a stream of vectors, of 12 entries if it says nothing else, varied by f.
func tiny(d stream.Design, f func(c *models.Config)) models.Config {
	c := transformer(4, 12, 17, 3, 13, 9).OnStream(d)
	f(&c)
	return c
}

// transformer is a model with a vector stream.
func transformer(blocks, d, ff, heads, vocab, seq int) models.Config {
	c := models.Transformer(blocks, d, ff, heads)
	c.Vocab, c.Seq = vocab, seq
	return c
}

func vectorOf(d int) stream.VectorConfig { return stream.VectorConfig{Vectors: stream.Vectors{D: d}} }

func gelu(hidden int) layers.GELUConfig { return layers.GELUConfig{Hidden: hidden} }

// resolved are the models of configs.
func resolved(t *testing.T, configs map[string]models.Config) map[string]models.Spec {
	t.Helper()
	all := map[string]models.Spec{}
	for name, c := range configs {
		all[name] = modeltest.Resolve(t, c)
	}
	return all
}

// varied is a model with changes.
func varied(t *testing.T, c models.Spec, change func(c *models.Config)) models.Spec {
	t.Helper()
	changed, err := c.With(change)
	require.NoError(t, err)
	return changed
}

func plain(*models.Config) {}

func biased(c *models.Config) { c.Bias = true }

func attentionOnly(c *models.Config) { c.FeedForward = layers.NoFeedForward{} }

func swiGLU(c *models.Config) { c.FeedForward = layers.SwiGLUConfig{Hidden: 9} }

func softCapped(c *models.Config) { c.LogitSoftcap = 3 }

// authors is the form of the RMT authors' code, with muP.
func authors(c *models.Config) {
	c.Norm, c.Attention.Positions, c.Attention.InverseLayerScaling = models.NormRMS, models.PositionsALiBi, true
	c.MuP = &models.MuP{Base: models.MuPBase{Stream: stream.MatrixConfig{Dk: 3, Dv: 4, Rank: 2}},
		InputMultiplier: 2.5, OutputMultiplier: 1.7, AttnMultiplier: 1.3}
}

// experts makes a config's feed-forward a mixture, of experts as wide as it was.
func experts(n, k int) func(c *models.Config) {
	return func(c *models.Config) {
		c.FeedForward = layers.MoEConfig{Hidden: c.FeedForward.Shape().Hidden, Experts: n, TopK: k}
	}
}

// all varies a config by each.
func all(vary ...func(c *models.Config)) func(c *models.Config) {
	return func(c *models.Config) {
		for _, f := range vary {
			f(c)
		}
	}
}

// on tells whether a model's stream is of the design D.
func on[D stream.Design](c models.Spec) bool {
	_, is := c.Stream.(D)
	return is
}

// settingsOf are those of a stream of the design D; of another they are zero.
func settingsOf[D stream.Design](c models.Spec) D {
	d, _ := c.Stream.(D)
	return d
}

// matrixOf are the sizes of a matrix stream.
func matrixOf(c models.Spec) stream.MatrixConfig { return c.Stream.(stream.MatrixConfig) }

// hidden is the width of the feed-forward's hidden layer, of one expert.
func hidden(c models.Spec) int { return c.FeedForwardShape().Hidden }

// expertCount is the number of a feed-forward's parts: 1 without experts.
func expertCount(c models.Spec) int { return max(1, c.FeedForwardShape().Experts) }
