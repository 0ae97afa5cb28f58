package analysis_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// zoo are small models of every stream, with and without biases.
func zoo() map[string]models.Config {
	all := vectorZoo()
	maps.Copy(all, matrixZoo())
	return all
}

func plain(*models.Config) {}

func biased(c *models.Config) { c.Bias = true }

func matrixZoo() map[string]models.Config {
	matrix := func(f func(c *models.Config)) models.Config {
		c := models.Config{Stream: models.StreamMatrix, Layers: 3, Dk: 5, Dv: 6, Rank: 3, FF: 11, Vocab: 13, Seq: 9}
		f(&c)
		return c
	}
	return map[string]models.Config{
		"matrix": matrix(plain), "matrix/bias": matrix(biased),
		"matrix/authors": matrix(func(c *models.Config) {
			c.Norm, c.Positions, c.InverseLayerScaling = models.NormRMS, models.PositionsALiBi, true
			c.MuP = &models.MuP{BaseDk: 3, BaseDv: 4, BaseRank: 2, InputMultiplier: 2.5, OutputMultiplier: 1.7, AttnMultiplier: 1.3}
		}),
		"matrix/moe": matrix(func(c *models.Config) { c.Experts, c.TopK = 3, 2 }),
		"matrix/one": matrix(func(c *models.Config) { c.Layers, c.Positions = 1, models.PositionsNone }),
	}
}

func vectorZoo() map[string]models.Config {
	vector := func(stream string, f func(c *models.Config)) models.Config {
		c := models.Config{Stream: stream, Layers: 4, DModel: 12, Heads: 3, FF: 17, Vocab: 13, Seq: 9}
		f(&c)
		return c
	}
	return map[string]models.Config{
		"vector":        vector(models.StreamVector, plain),
		"vector/gpt2":   vector(models.StreamVector, func(c *models.Config) { c.Bias, c.TieEmbeddings, c.HeadSize = true, true, 5 }),
		"vector/moe":    vector(models.StreamVector, func(c *models.Config) { c.Experts, c.TopK, c.Bias = 4, 2, true }),
		"hyper/static":  vector(models.StreamHyper, func(c *models.Config) { c.N = 3 }),
		"hyper/dynamic": vector(models.StreamHyper, func(c *models.Config) { c.N, c.Dynamic, c.Bias = 4, true, true }),
		"mhc":           vector(models.StreamMHC, plain),
		"mhc-lite":      vector(models.StreamMHCLite, func(c *models.Config) { c.N, c.Positions = 3, models.PositionsRoPE }),
		"vwn":           vector(models.StreamVWN, func(c *models.Config) { c.M, c.N = 3, 6 }),
		"vwn/expand":    vector(models.StreamVWN, func(c *models.Config) { c.M, c.N, c.ExpandEmbedding, c.Bias = 2, 3, true, true }),
		"highway":       vector(models.StreamHighway, biased),
		"hieragg":       vector(models.StreamHierAgg, func(c *models.Config) { c.Inner = 7 }),
		"hieragg/dou":   vector(models.StreamHierAgg, func(c *models.Config) { c.Inner, c.SeparateAggregates, c.Bias = 5, true, true }),
		"dwlstm":        vector(models.StreamDWLSTM, func(c *models.Config) { c.FF = 0 }),
		"dwlstm/bias":   vector(models.StreamDWLSTM, func(c *models.Config) { c.FF, c.Bias = 0, true }),
		"dwlstm/rms":    vector(models.StreamDWLSTM, func(c *models.Config) { c.FF, c.Norm = 0, models.NormRMS }),
		"vector/mup": vector(models.StreamVector, func(c *models.Config) {
			c.Positions = models.PositionsNone
			c.MuP = &models.MuP{BaseDModel: 6, BaseHeads: 1, BaseFF: 5, OutputMultiplier: 1.7, AttnMultiplier: 1.3}
		}),
		"vector/documents": vector(models.StreamVector, func(c *models.Config) { c.MaskDocuments, c.BOS = true, 4 }),
		"vector/one":       vector(models.StreamVector, func(c *models.Config) { c.Layers = 1 }),
		"mhc/one":          vector(models.StreamMHC, func(c *models.Config) { c.Layers = 1 }),
		"dwlstm/one":       vector(models.StreamDWLSTM, func(c *models.Config) { c.Layers, c.FF = 1, 0 }),
	}
}

// decompose runs a model of random weights and takes it apart.
func decompose(t *testing.T, c models.Config, dt tensor.Dtype) (*cache.Cache, *analysis.Decomposition) {
	t.Helper()
	require.NoError(t, c.Validate())
	run, err := analysis.Run(modeltest.PerturbedStore(t, c, dt), c, tokensFor(c, c.Seq, 3))
	require.NoError(t, err)
	d, err := analysis.Decompose(run)
	require.NoError(t, err)
	return run, d
}

func tokensFor(c models.Config, n int, seed uint64) []int32 {
	draw, ids := rand.New(rand.NewPCG(seed, 1)), make([]int32, n)
	for i := range ids {
		ids[i] = int32(draw.IntN(c.Vocab))
	}
	return ids
}

// TestZoo: every design has a row here, and so is taken apart: its writers' terms add up to its
// end, to what its sites read, and to its logits.
func TestZoo(t *testing.T) {
	rows := map[string]int{}
	for _, c := range zoo() {
		rows[c.Design().Name()]++
	}
	for _, name := range models.Streams() {
		assert.Positive(t, rows[name], "no config of stream %s in zoo, in analysis/decomposition_test.go", name)
	}
}

// TestDecomposeRows: of a run of several rows each row's terms are those of a run of its own.
func TestDecomposeRows(t *testing.T) {
	for name, c := range zoo() {
		t.Run(name, func(t *testing.T) {
			store, seq := modeltest.PerturbedStore(t, c, tensor.Float64), 4
			names, err := analysis.DecompositionNames(store, c)
			require.NoError(t, err)
			r, err := cache.New(store, c, cache.Options{Names: names, Batch: 2, Seq: seq})
			require.NoError(t, err)
			defer r.Close()
			ids := tokensFor(c, 2*seq, 3)
			both, err := r.Run(ids)
			require.NoError(t, err)
			d, err := analysis.Decompose(both)
			require.NoError(t, err)
			single, err := analysis.Run(store, c, ids[seq:])
			require.NoError(t, err)
			alone, err := analysis.Decompose(single)
			require.NoError(t, err)
			for token := range seq {
				checkStream(t, d, seq+token, 1e-12)
				want, err := alone.Attribute(token, 1, 2)
				require.NoError(t, err)
				got, err := d.Attribute(seq+token, 1, 2)
				require.NoError(t, err)
				require.Len(t, got.Contributions, len(want.Contributions))
				for i, c := range want.Contributions {
					assert.InDelta(t, c.Value, got.Contributions[i].Value, 1e-11, c.Name())
				}
			}
		})
	}
}

// TestDecomposeOneToken: so are those of a prompt of one token.
func TestDecomposeOneToken(t *testing.T) {
	for name, c := range zoo() {
		t.Run(name, func(t *testing.T) {
			run, err := analysis.Run(modeltest.PerturbedStore(t, c, tensor.Float64), c, []int32{4})
			require.NoError(t, err)
			d, err := analysis.Decompose(run)
			require.NoError(t, err)
			checkStream(t, d, 0, 1e-12)
			checkLogits(t, run, d, 0, 1e-12)
		})
	}
}

// TestDecompositionSums: for every stream the terms of all writers' parts add up to the
// model's own stream, and their contributions to its logits.
func TestDecompositionSums(t *testing.T) {
	all := zoo()
	scaled := all["vector/mup"]
	scaled.MuP = &models.MuP{BaseDModel: 6, InputMultiplier: 2.5}
	all["vector/mup/input"] = scaled
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			for dt, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-5} {
				run, d := decompose(t, c, dt)
				for token := range c.Seq {
					checkStream(t, d, token, bound)
					checkLogits(t, run, d, token, bound)
				}
			}
		})
	}
}

// checkStream compares the sum of all terms with the stream, to bound of its size.
func checkStream(t *testing.T, d *analysis.Decomposition, token int, bound float64) {
	sum, err := d.Constant(token)
	require.NoError(t, err)
	add := func(term []float64, err error) {
		require.NoError(t, err)
		floats.Add(sum, term)
	}
	for _, w := range d.Writers() {
		whole, parts := append([]float64(nil), sum...), sum
		for p := range w.Parts {
			add(d.Term(w.Name, p, token))
		}
		add(d.BiasTerm(w.Name, token))
		term, err := d.WriterTerm(w.Name, token)
		require.NoError(t, err)
		floats.Add(whole, term)
		require.InDeltaSlice(t, whole, parts, 1e-9, "%s: the whole and its parts", w.Name)
	}
	want, err := d.End(token)
	require.NoError(t, err)
	assert.LessOrEqual(t, floats.Distance(sum, want, math.Inf(1)), bound*floats.Norm(want, math.Inf(1)), "token %d", token)
}

// checkLogits compares attributions with the model's logits.
func checkLogits(t *testing.T, run *cache.Cache, d *analysis.Decomposition, token int, bound float64) {
	logits, err := run.TokenLogits(token)
	require.NoError(t, err)
	size := floats.Norm(logits, math.Inf(1))
	for target := range run.Vocab {
		for _, against := range []int{-1, (target + 1) % run.Vocab} {
			a, err := d.Attribute(token, target, against)
			require.NoError(t, err)
			want := logits[target]
			if against >= 0 {
				want -= logits[against]
			}
			assert.InDelta(t, want, a.Sum, 2*bound*size, "token %d, logit %d against %d", token, target, against)
			assert.Equal(t, want, a.Logit)
		}
	}
}

// TestLastTermIsWhatAblationTakesAway: a term is what an intervention on its activation takes
// away, where nothing behind it depends on it: the last writer's. Behind the last aggregate of
// hierarchical aggregation comes a norm, whose scale changes.
func TestLastTermIsWhatAblationTakesAway(t *testing.T) {
	for name, c := range zoo() {
		if c.Stream == models.StreamHierAgg {
			continue
		}
		t.Run(name, func(t *testing.T) {
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			names, err := analysis.DecompositionNames(store, c)
			require.NoError(t, err)
			r, err := cache.New(store, c, cache.Options{Names: names})
			require.NoError(t, err)
			defer r.Close()
			ids := tokensFor(c, c.Seq, 4)
			run, err := r.Run(ids)
			require.NoError(t, err)
			d, err := analysis.Decompose(run)
			require.NoError(t, err)
			writers := d.Writers()
			last := writers[len(writers)-1]
			ablated, err := r.Run(ids, cache.Ablate(last.Activation, nil))
			require.NoError(t, err)
			checkAblation(t, c, d, ablated, last.Name)
		})
	}
}

func checkAblation(t *testing.T, c models.Config, d *analysis.Decomposition, ablated *cache.Cache, last string) {
	after, err := analysis.Decompose(ablated)
	require.NoError(t, err)
	for token := range c.Seq {
		bias, err := d.BiasTerm(last, token)
		require.NoError(t, err)
		want, err := d.WriterTerm(last, token)
		require.NoError(t, err)
		floats.Sub(want, bias)
		got, err := d.End(token)
		require.NoError(t, err)
		without, err := after.End(token)
		require.NoError(t, err)
		floats.Sub(got, without)
		require.InDeltaSlice(t, want, got, 1e-11, "token %d", token)
	}
}

// TestDecomposeErrors: what a call can get wrong is one line.
func TestDecomposeErrors(t *testing.T) {
	c := zoo()["vector"]
	run, d := decompose(t, c, tensor.Float32)
	_, err := d.Term("blocks.0.atention", 0, 0)
	assert.EqualError(t, err, `analysis: no writer "blocks.0.atention"; did you mean blocks.0.attention?`)
	_, err = d.Term("blocks.0.attention", 3, 0)
	assert.EqualError(t, err, "analysis: blocks.0.attention: head: want 0 to 2, got 3")
	_, err = d.Term("embedding", 0, 9)
	assert.EqualError(t, err, "analysis: token: want 0 to 8, got 9")
	_, err = d.Attribute(0, 13, -1)
	assert.EqualError(t, err, "analysis: target id: want 0 to 12, got 13")
	_, err = d.Attribute(0, 1, 13)
	assert.EqualError(t, err, "analysis: id to compare with: want 0 to 12, got 13")
	_, err = analysis.Run(run.Model().Store(), c, nil)
	assert.EqualError(t, err, "analysis: want a prompt of at least 1 token, got none")
	_, err = d.End(-1)
	assert.EqualError(t, err, "analysis: token: want 0 to 8, got -1")
	_, err = d.Constant(9)
	assert.EqualError(t, err, "analysis: token: want 0 to 8, got 9")
	_, err = d.BiasTerm("embedding", 9)
	assert.EqualError(t, err, "analysis: token: want 0 to 8, got 9")
	r, err := cache.New(run.Model().Store(), c, cache.Options{})
	require.NoError(t, err)
	defer r.Close()
	bare, err := r.Run(run.IDs)
	require.NoError(t, err)
	_, err = analysis.Decompose(bare)
	assert.ErrorContains(t, err, "blocks.3.feedforward.stream")
	_, err = analysis.Decompose(run)
	assert.NoError(t, err)
}
