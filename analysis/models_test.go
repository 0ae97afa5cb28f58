package analysis_test

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// small holds the models of zoo, which are made once for all tests.
var small struct {
	sync.Once
	models map[string]models.Spec
}

// zoo are small models of every stream, with and without biases: those of the designs' files, and
// more on vector and matrix streams. A design without a row has its small preset.
func zoo(t *testing.T) map[string]models.Spec {
	small.Do(func() { small.models = newZoo(t) })
	require.NotEmpty(t, small.models)
	return maps.Clone(small.models)
}

// few is zoo, without long tests reduced to one model of each design, the one with the shortest
// name.
func few(t *testing.T) map[string]models.Spec {
	all := zoo(t)
	if longtest.Enabled() {
		return all
	}
	shortest := map[string]string{}
	for name, c := range all {
		if at, ok := shortest[c.Stream.Name()]; !ok || cmp.Or(cmp.Compare(len(name), len(at)), cmp.Compare(name, at)) < 0 {
			shortest[c.Stream.Name()] = name
		}
	}
	maps.DeleteFunc(all, func(name string, spec models.Spec) bool { return shortest[spec.Stream.Name()] != name })
	return all
}

func newZoo(t *testing.T) map[string]models.Spec {
	all := matrixZoo()
	maps.Copy(all, vectorZoo())
	maps.Copy(all, designModels(t, false))
	rows := map[string]bool{}
	for _, c := range all {
		rows[c.Stream.Name()] = true
	}
	for name, c := range smallPresets() {
		if !rows[c.Stream.Name()] {
			all[name] = c
		}
	}
	return resolved(t, all)
}

// smallPresets are the small presets by name.
func smallPresets() map[string]models.Config {
	all := map[string]models.Config{}
	for _, p := range modeltest.Small(models.Standard()) {
		all[p.Name] = p.Config
	}
	return all
}

// designRows are what a design's file says to the tests of this package.
type designRows struct {
	Supports  []string          // what the stream has that analyses need
	Sometimes []string          // and what it has by some settings
	Static    string            // "identity": what is written stays as it is, without a run
	Except    map[string]string // what is not tested on the design's models, with the reason
	Models    map[string]designModel
}

// designModel is one of a design's models.
type designModel struct {
	Model     designrows.Model
	Preset    string   // a small preset to use instead of Model
	Options   bool     // one with a loop or another option, which only tests of every option take
	Bandwidth []int    // dimensions, a sublayer's width, numbers written and read, by hand
	Checks    []string // which tests of a few models take it
	Except    map[string]string
}

// designFiles holds the designs' files, which are read once.
var designFiles struct {
	sync.Once
	rows map[string]designRows
}

// rowsOfDesigns returns the contents of the designs' files.
func rowsOfDesigns(t *testing.T) map[string]designRows {
	designFiles.Do(func() { designFiles.rows = designrows.Read[designRows](t, "analysis") })
	return designFiles.rows
}

// designModels are the models in the designs' files, with options or without.
func designModels(t *testing.T, options bool) map[string]models.Config {
	all, presets := map[string]models.Config{}, smallPresets()
	for design, rows := range rowsOfDesigns(t) {
		for name, row := range rows.Models {
			require.NotContains(t, all, name, design)
			switch {
			case row.Options != options:
			case row.Preset != "":
				require.Contains(t, presets, row.Preset)
				all[name] = presets[row.Preset]
			default:
				all[name] = tinyOn(t, design, row.Model)
			}
		}
	}
	return all
}

// tinyOn is a tiny model of a design with changes: as matrix streams have it where the design has
// keys.
func tinyOn(t *testing.T, design string, m designrows.Model) models.Config {
	d, err := models.Standard().Stream(design)
	require.NoError(t, err)
	base := tiny(vectorOf(12), plain)
	if _, keys := reflect.TypeOf(d).FieldByName("Dk"); keys {
		base = tinyMatrix(plain)
	}
	return m.On(t, design, base)
}

// checked are the names of the designs' models that a test of a few takes, and those given, sorted.
func checked(t *testing.T, test string, others ...string) []string {
	for _, rows := range rowsOfDesigns(t) {
		for name, row := range rows.Models {
			if slices.Contains(row.Checks, test) {
				others = append(others, name)
			}
		}
	}
	return slices.Sorted(slices.Values(others))
}

// excepted tells whether a model of the zoo is left out of a test.
func excepted(t *testing.T, test string) func(name string, spec models.Spec) bool {
	all := rowsOfDesigns(t)
	return func(name string, spec models.Spec) bool {
		rows := all[spec.Stream.Name()]
		return rows.Except[test]+rows.Models[name].Except[test] != ""
	}
}

// What streams can have, as the designs' files call it.
const (
	weighted  = "weighted"
	keyed     = "keyed"
	mixed     = "mixing"
	rotatable = "rotatable"
)

// abilities are how the analyses ask for it.
func abilities() map[string]func(models.Spec) error {
	return map[string]func(models.Spec) error{weighted: analysis.CheckWeighted, keyed: analysis.CheckKeyed, mixed: analysis.CheckMixing, rotatable: analysis.CheckRotatable}
}

// supports tells whether a model's stream has what an analysis needs.
func supports(spec models.Spec, ability string) bool { return abilities()[ability](spec) == nil }

// unsupporting is a model of the zoo, the first by name, whose stream has not what an analysis
// needs.
func unsupporting(t *testing.T, ability string) models.Spec {
	all := zoo(t)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !supports(all[key], ability) {
			return all[key]
		}
	}
	require.Fail(t, "every stream has it", ability)
	return models.Spec{}
}

// TestEachDesignSupports: models' streams have what their design's file says, and nothing else.
func TestEachDesignSupports(t *testing.T) {
	all := rowsOfDesigns(t)
	for name, c := range zoo(t) {
		rows := all[c.Stream.Name()]
		require.Subset(t, slices.Collect(maps.Keys(abilities())), append(rows.Supports, rows.Sometimes...), c.Stream.Name())
		for ability := range abilities() {
			if !slices.Contains(rows.Sometimes, ability) {
				assert.Equal(t, slices.Contains(rows.Supports, ability), supports(c, ability), "%s: %s under supports in testdata/designs/%s.yaml", name, ability, c.Stream.Name())
			}
		}
	}
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
		"matrix/sliding":        tinyMatrix(func(c *models.Config) { c.Attention.Kind = layers.SlidingAttention{Window: 4, Sinks: 2} }),
		"matrix/one":            tinyMatrix(func(c *models.Config) { c.Layers, c.Attention.Positions = 1, models.PositionsNone }),
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
		"vector/mup": tiny(vectorOf(12), func(c *models.Config) {
			c.Attention.Positions = models.PositionsNone
			c.MuP = &models.MuP{Base: models.MuPBase{Stream: vectorOf(6), Attention: models.BaseHeads{Heads: 1}, FeedForward: gelu(5)},
				OutputMultiplier: 1.7, AttnMultiplier: 1.3}
		}),
		"vector/documents": tiny(vectorOf(12), func(c *models.Config) { c.MaskDocuments, c.BOS = true, 4 }),
		"vector/one":       tiny(vectorOf(12), one),
	}
}

// withOptions are models, a vector stream with its options, and models with loops, which the naive
// forms of writes and reads in some tests do not know.
func withOptions(t *testing.T, all map[string]models.Spec) map[string]models.Spec {
	t.Helper()
	all["vector/options"] = modeltest.Resolve(t, tiny(stream.VectorConfig{LayerScale: true, X0: "nanochat"}, func(c *models.Config) {
		c.FeedForward = layers.SwiGLUConfig{Hidden: 9}
	}))
	all["looped/vector"] = modeltest.Resolve(t, tiny(stream.VectorConfig{X0: "neutral"}, loopedFromTheFirst))
	maps.Copy(all, resolved(t, designModels(t, true)))
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
func varied(t *testing.T, spec models.Spec, change func(c *models.Config)) models.Spec {
	t.Helper()
	changed, err := spec.With(change)
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
func on[D stream.Design](spec models.Spec) bool {
	_, is := spec.Stream.(D)
	return is
}

// settingsOf returns the settings of a model's stream, or zeros if it is not of the design D.
func settingsOf[D stream.Design](spec models.Spec) D {
	d, _ := spec.Stream.(D)
	return d
}

// matrixOf returns the settings of a model's matrix stream.
func matrixOf(spec models.Spec) stream.MatrixConfig { return spec.Stream.(stream.MatrixConfig) }

// hidden is the width of the feed-forward's hidden layer, of one expert.
func hidden(spec models.Spec) int { return spec.FeedForwardShape().Hidden }

// expertCount is the number of a feed-forward's parts: 1 without experts.
func expertCount(spec models.Spec) int { return max(1, spec.FeedForwardShape().Experts) }
