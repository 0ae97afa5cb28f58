package analysis_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestInductionHead: a model of two layers that was trained on repeated random tokens has an
// induction head, and of all heads it is the one to which attribution gives most of the logit
// of what follows.
func TestInductionHead(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains two models for some seconds")
	}
	for name, row := range map[string]struct {
		config models.Config
		task   analysis.RepeatTask
		period int
	}{
		"vector": {transformer(2, 48, 8, 4, 32, 48),
			analysis.RepeatTask{Rows: 16, MinPeriod: 8, MaxPeriod: 24, Steps: 700, LR: 1e-2}, 20},
		"matrix": {models.Config{Stream: stream.MatrixConfig{Dk: 8, Dv: 8, Rank: 4}, Layers: 2, FeedForward: gelu(32), Vocab: 16, Seq: 24},
			analysis.RepeatTask{Rows: 16, MinPeriod: 4, MaxPeriod: 12, Steps: 300, LR: 1e-2}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.Represent(t, name == "matrix")
			row.config.Init, row.config.Attention.Positions = models.InitLeCun, models.PositionsALiBi
			model := modeltest.Resolve(t, row.config)
			store, losses, err := row.task.Train(model)
			require.NoError(t, err)
			require.Len(t, losses, row.task.Steps)
			t.Logf("loss %.3f at first, %.3f at last", losses[0], losses[len(losses)-1])
			scores, err := analysis.InductionScores(t.Context(), store, model, row.period, 8, 1)
			require.NoError(t, err)
			layer, head, score := scores.Strongest()
			t.Logf("induction head %d of layer %d: %.3f", head, layer, score)
			assert.Equal(t, 1, layer, "it needs a layer below")
			assert.Greater(t, score, 0.5)
			gains := gainsOfHeads(t, store, model, row.period)
			for h, gain := range gains {
				if h != head {
					assert.Less(t, gain, gains[head], "head %d", h)
				}
			}
		})
	}
}

// gainsOfHeads are what the heads of layer 1 give to the logits of what follows in a row's
// second half.
func gainsOfHeads(t *testing.T, store *graph.Store, spec models.Spec, period int) []float64 {
	ids := analysis.RepeatedTokens(spec.Vocab, period, 1, 2)
	run, err := analysis.Run(store, spec, ids)
	require.NoError(t, err)
	d, err := analysis.Decompose(run)
	require.NoError(t, err)
	gains := make([]float64, spec.HeadCount())
	for token := period; token < len(ids)-1; token++ {
		a, err := d.Attribute(token, int(ids[token+1]), -1)
		require.NoError(t, err)
		for _, c := range a.Contributions {
			if c.Writer == "blocks.1.attention" && c.Part == "head" {
				gains[c.Index] += c.Value
			}
		}
	}
	return gains
}

// TestInductionOfRandomModel: heads that were not trained attend nowhere in particular, about
// evenly: far below what an induction head has.
func TestInductionOfRandomModel(t *testing.T) {
	t.Parallel()
	for name, c := range few(t) {
		c := varied(t, c, func(c *models.Config) { c.Seq = 24 })
		store := modeltest.NewStore(t, c, tensor.Float32, 1)
		scores, err := analysis.InductionScores(t.Context(), store, c, 12, 4, 1)
		require.NoError(t, err, name)
		require.Len(t, scores.Induction, c.Layers)
		_, _, score := scores.Strongest()
		assert.Less(t, score, 0.3, name)
		assert.Len(t, scores.Table().Rows, c.Layers*c.HeadCount())
	}
}

// TestInductionByChance: heads without queries attend to all tokens alike, and have the scores of
// chance.
func TestInductionByChance(t *testing.T) {
	c := varied(t, zoo(t)["vector"], func(c *models.Config) { c.Seq = 24 })
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	for l := range c.Layers {
		p := store.Param(fmt.Sprintf("blocks.%d.attention.qkv", l))
		require.NoError(t, graph.SetFloat64s(p.Value, make([]float64, p.Size())))
	}
	scores, err := analysis.InductionScores(t.Context(), store, c, 12, 2, 1)
	require.NoError(t, err)
	induction, previous := scores.Chance()
	for l := range scores.Induction {
		assert.InDelta(t, induction, scores.Induction[l][0], 1e-9)
		assert.InDelta(t, previous, scores.Previous[l][0], 1e-9)
	}
	assert.Contains(t, scores.Table().Note, "alike has 0.056 and 0.12")
}

// TestInductionWithDocuments: BOS, which would hide what is before it, is not drawn: every
// head of the last token sees the first.
func TestInductionWithDocuments(t *testing.T) {
	c := varied(t, zoo(t)["vector/documents"], func(c *models.Config) { c.Vocab, c.BOS, c.Seq = 3, 1, 40 })
	store := modeltest.NewStore(t, c, tensor.Float32, 1)
	masked, err := analysis.InductionScores(t.Context(), store, c, 20, 2, 1)
	require.NoError(t, err)
	ids := analysis.RepeatedTokens(3, 20, 2, 1)
	require.Contains(t, ids, int32(1))
	for i, id := range ids {
		if id == 1 {
			ids[i] = 2
		}
	}
	unmasked := varied(t, c, func(c *models.Config) { c.MaskDocuments = false })
	want, err := analysis.HeadScoresOn(t.Context(), store, unmasked, ids, 2)
	require.NoError(t, err)
	assert.Equal(t, want, masked)
}

// TestInductionWithSeparator: nor is the id drawn after which a token sees nothing before it.
func TestInductionWithSeparator(t *testing.T) {
	c := varied(t, zoo(t)["vector/documents"], func(c *models.Config) { c.Vocab, c.BOS, c.Separator, c.Seq = 3, 1, 2, 40 })
	store := modeltest.NewStore(t, c, tensor.Float32, 1)
	masked, err := analysis.InductionScores(t.Context(), store, c, 20, 2, 1)
	require.NoError(t, err)
	unmasked := varied(t, c, func(c *models.Config) { c.MaskDocuments = false })
	want, err := analysis.HeadScoresOn(t.Context(), store, unmasked, make([]int32, 80), 2)
	require.NoError(t, err)
	assert.Equal(t, want, masked)
}

// TestRepeatedTokens: rows repeat with a period of their own, and what cannot be known is not
// counted.
func TestRepeatedTokens(t *testing.T) {
	ids := analysis.RepeatedTokens(13, 5, 3, 7)
	require.Len(t, ids, 30)
	for row := range 3 {
		assert.Equal(t, ids[row*10:][:5], ids[row*10+5:][:5])
	}
	assert.NotEqual(t, ids[:5], ids[10:15])
	assert.Equal(t, ids, analysis.RepeatedTokens(13, 5, 3, 7))
	assert.Empty(t, analysis.RepeatedTokens(0, 5, 3, 7))
	assert.NotEqual(t, ids, analysis.RepeatedTokens(13, 5, 3, 8))
}

// TestInductionErrors: what a call can get wrong is one line.
func TestInductionErrors(t *testing.T) {
	c := zoo(t)["vector"]
	store := modeltest.NewStore(t, c, tensor.Float32, 1)
	_, err := analysis.InductionScores(t.Context(), store, c, 1, 1, 0)
	assert.ErrorIs(t, err, check.ValueError{Name: "induction", Got: "1 and 1"})
	_, err = analysis.HeadScoresOn(t.Context(), store, c, []int32{1, 2, 3}, 1)
	assert.ErrorIs(t, err, check.ValueError{Name: "induction", Got: "3 tokens"})
	_, err = analysis.InductionScores(t.Context(), store, c, 5, 1, 0)
	assert.ErrorIs(t, err, check.ValueError{Name: "run", Got: "10"})
	run, _ := decompose(t, c, tensor.Float32)
	_, err = analysis.Patterns(run, 4)
	assert.ErrorIs(t, err, check.RangeError{Name: "layer", N: 4, Got: 4})
	r, err := cache.New(store, c, cache.Options{Names: []string{analysis.PatternName(0)}, Batch: 2, Seq: 3})
	require.NoError(t, err)
	defer r.Close()
	rows, err := r.Run(tokensFor(c, 6, 1))
	require.NoError(t, err)
	_, err = analysis.Patterns(rows, 0)
	assert.ErrorIs(t, err, check.ValueError{Name: "patterns"})
	masked := varied(t, c, func(c *models.Config) { c.MaskDocuments = true })
	_, _, err = analysis.RepeatTask{Rows: 1, Steps: 1, LR: 1, MinPeriod: 2, MaxPeriod: 3}.Train(masked)
	assert.ErrorIs(t, err, check.ValueError{Name: "repeat task", Want: "a model without document masks"})
	for want, task := range map[error]analysis.RepeatTask{
		check.ValueError{Name: "repeat task", Got: "0, 1 and 1"}: {Steps: 1, LR: 1, MinPeriod: 2, MaxPeriod: 3},
		check.ValueError{Name: "repeat task", Got: "2 and 5"}:    {Rows: 1, Steps: 1, LR: 1, MinPeriod: 2, MaxPeriod: 5},
	} {
		_, _, err := task.Train(c)
		assert.ErrorIs(t, err, want)
	}
}
