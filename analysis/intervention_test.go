package analysis_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
)

// ablateHeads, ablateWriters and ablate set activations to 0 in one row of tokens.
func ablateHeads(store *graph.Store, spec models.Spec, ids []int32, m analysis.Metric) (*analysis.Sweep, error) {
	a, err := analysis.NewAblations(context.Background(), store, spec, [][]int32{ids}, nil, analysis.ReplaceZero)
	if err != nil {
		return nil, err
	}
	return a.Heads(context.Background(), 0, m)
}

func ablateWriters(store *graph.Store, spec models.Spec, ids []int32, m analysis.Metric) (*analysis.Sweep, error) {
	a, err := analysis.NewAblations(context.Background(), store, spec, [][]int32{ids}, nil, analysis.ReplaceZero)
	if err != nil {
		return nil, err
	}
	return a.Writers(context.Background(), 0, m)
}

func ablate(store *graph.Store, spec models.Spec, ids []int32, patterns []string, at cache.At, m analysis.Metric) (*analysis.Sweep, error) {
	a, err := analysis.NewAblations(context.Background(), store, spec, [][]int32{ids}, patterns, analysis.ReplaceZero)
	if err != nil {
		return nil, err
	}
	return a.Together(context.Background(), 0, at, m)
}

// TestAblation: for every stream, the effect of a head is the loss with its output set to 0 minus
// the loss with it. Heads that nothing reads would have an effect of 0.
func TestAblation(t *testing.T) {
	t.Parallel()
	for name, c := range few(t) {
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		ids, metric := tokensFor(c, c.Seq, 5), analysis.NextTokenLoss()
		heads, err := ablateHeads(store, c, ids, metric)
		require.NoError(t, err, name)
		require.Len(t, heads.Effect, c.Layers)
		require.Len(t, heads.Effect[0], c.HeadCount())
		one, err := ablate(store, c, ids, []string{fmt.Sprintf("blocks.%d.attention.heads", c.Layers-1)}, cache.At{"head": 2}, metric)
		require.NoError(t, err)
		assert.InDelta(t, one.Effect[0][0], heads.Effect[c.Layers-1][2], 1e-12, name)
		assert.InDelta(t, one.Baseline, heads.Baseline, 1e-12)
		assert.NotZero(t, heads.Effect[c.Layers-1][2], name)
		writers, err := ablateWriters(store, c, ids, analysis.LogitOf(3, 1, 2))
		require.NoError(t, err)
		for i, row := range writers.Effect {
			for token := 4; token < len(ids); token++ {
				assert.Zero(t, row[token], "%s: %s of token %d, after the one measured", name, writers.Rows[i], token)
			}
		}
		assert.Len(t, writers.Table().Rows, len(writers.Rows))
	}
}

// TestAblationsByOtherValues: the effects of replacing by the mean and by another row equal those
// of runs in which the values are set by hand.
func TestAblationsByOtherValues(t *testing.T) {
	t.Parallel()
	c := zoo(t)["vector"]
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	rows, metric := [][]int32{tokensFor(c, c.Seq, 5), tokensFor(c, c.Seq, 6), tokensFor(c, c.Seq, 7)}, analysis.NextTokenLoss()
	name := fmt.Sprintf("blocks.%d.attention.heads", c.Layers-1)
	r, err := cache.New(store, c, cache.Options{Names: []string{name}, Seq: c.Seq})
	require.NoError(t, err)
	defer r.Close()
	var head [][]float64 // head 2 in each row [T, Dh]
	for _, ids := range rows {
		run, err := r.Run(ids)
		require.NoError(t, err)
		a, err := run.Get(name)
		require.NoError(t, err)
		values, err := a.Select(cache.At{"head": 2})
		require.NoError(t, err)
		head = append(head, values)
	}
	dh := c.HeadDim()
	mean := make([]float64, len(head[0]))
	for i := range mean {
		for _, values := range head {
			for at := i % dh; at < len(values); at += dh {
				mean[i] += values[at] / float64(len(rows)*c.Seq)
			}
		}
	}
	for with, values := range map[analysis.Replacement][]float64{"": make([]float64, len(mean)), analysis.ReplaceMean: mean, analysis.ReplaceResample: head[0]} {
		a, err := analysis.NewAblations(t.Context(), store, c, rows, nil, with)
		require.NoError(t, err)
		heads, err := a.Heads(t.Context(), 2, metric)
		require.NoError(t, err)
		run, err := r.Run(rows[2], cache.Set(name, cache.At{"head": 2}, values))
		require.NoError(t, err)
		want, err := metric.Of(run)
		require.NoError(t, err)
		assert.InDelta(t, want-heads.Baseline, heads.Effect[c.Layers-1][2], 1e-12, with)
		restored, err := a.Restored(t.Context(), 2, metric)
		require.NoError(t, err)
		checkRestored(t, a, c, rows[2], restored)
		a, err = analysis.NewAblations(t.Context(), store, c, rows, []string{name}, with)
		require.NoError(t, err)
		one, err := a.Together(t.Context(), 2, cache.At{"head": 2}, metric)
		require.NoError(t, err)
		assert.InDelta(t, heads.Effect[c.Layers-1][2], one.Effect[0][0], 1e-12, with)
	}
}

// checkRestored: without all heads the metric equals the metric with all activations replaced
// together. In a model with a single head, giving it back restores what its ablation takes away.
func checkRestored(t *testing.T, a *analysis.Ablations, spec models.Spec, ids []int32, restored *analysis.Sweep) {
	none, err := a.Together(t.Context(), 2, nil, analysis.NextTokenLoss())
	require.NoError(t, err)
	assert.InDelta(t, none.Baseline+none.Effect[0][0], restored.Baseline, 1e-12)
	assert.Len(t, restored.Effect, spec.Layers)
	one := varied(t, spec, func(c *models.Config) { c.Layers, c.Attention.Heads = 1, 1 })
	alone, err := analysis.NewAblations(t.Context(), modeltest.PerturbedStore(t, one, tensor.Float64), one, [][]int32{ids}, nil, "")
	require.NoError(t, err)
	cut, err := alone.Heads(t.Context(), 0, analysis.NextTokenLoss())
	require.NoError(t, err)
	back, err := alone.Restored(t.Context(), 0, analysis.NextTokenLoss())
	require.NoError(t, err)
	assert.InDelta(t, -cut.Effect[0][0], back.Effect[0][0], 1e-12)
}

// TestPatching: all of the metric comes back with the embedding of all that differs, nothing
// by what does not reach the token that is measured. No document begins between the two.
func TestPatching(t *testing.T) {
	t.Parallel()
	left := excepted(t, "patched embedding")
	for name, c := range few(t) {
		if left(name, c) {
			continue
		}
		c := varied(t, c, func(c *models.Config) { c.MaskDocuments = false })
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		clean := tokensFor(c, c.Seq, 6)
		corrupt := append([]int32(nil), clean...)
		corrupt[2] = (corrupt[2] + 1) % int32(c.Vocab)
		p, err := analysis.PatchStream(t.Context(), store, c, clean, corrupt, analysis.LogitOf(c.Seq-2, 1, 2))
		require.NoError(t, err, name)
		require.Equal(t, "embedding.out", p.Rows[0])
		assert.InDelta(t, 1, p.Effect[0][2], 1e-9, "%s: the embedding of what differs", name)
		for column, v := range p.Effect[0] {
			if column != 2 {
				assert.InDelta(t, 0, v, 1e-9, "%s: the embedding of token %d", name, column)
			}
		}
		for i, row := range p.Effect {
			assert.InDelta(t, 0, row[c.Seq-1], 1e-9, "%s: %s after the token measured", name, p.Rows[i])
			assert.InDelta(t, 0, row[0], 1e-9, "%s: %s before what differs", name, p.Rows[i])
		}
		heads, err := analysis.PatchHeads(t.Context(), store, c, clean, corrupt, analysis.LogitOf(c.Seq-2, 1, -1))
		require.NoError(t, err)
		checkPatchedHead(t, store, c, [2][]int32{clean, corrupt}, heads)
	}
}

// checkPatchedHead compares the effect of head 1 of the last layer with that of a run that
// is given, at all tokens, what this head made of the clean prompt.
func checkPatchedHead(t *testing.T, store *graph.Store, spec models.Spec, prompts [2][]int32, p *analysis.Patching) {
	require.Len(t, p.Effect, spec.Layers)
	name := fmt.Sprintf("blocks.%d.attention.heads", spec.Layers-1)
	r, err := cache.New(store, spec, cache.Options{Names: []string{name}, Seq: spec.Seq})
	require.NoError(t, err)
	defer r.Close()
	logit := func(ids []int32, replace ...cache.Intervention) (float64, *cache.Cache) {
		run, err := r.Run(ids, replace...)
		require.NoError(t, err)
		return run.Logits[(spec.Seq-2)*spec.Vocab+1], run
	}
	clean, from := logit(prompts[0])
	a, err := from.Get(name)
	require.NoError(t, err)
	head, err := a.Select(cache.At{"head": 1})
	require.NoError(t, err)
	corrupt, _ := logit(prompts[1])
	patched, _ := logit(prompts[1], cache.Set(name, cache.At{"head": 1}, head))
	assert.InDelta(t, (patched-corrupt)/(clean-corrupt), p.Effect[spec.Layers-1][1], 1e-9)
}

// TestInterventionErrors: what a call can get wrong is one line.
func TestInterventionErrors(t *testing.T) {
	c := zoo(t)["matrix"]
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	ids := tokensFor(c, 4, 1)
	_, err := ablateHeads(store, c, nil, analysis.NextTokenLoss())
	assert.ErrorIs(t, err, check.ValueError{Name: "prompt", Got: "none"})
	_, err = ablateHeads(store, c, ids, analysis.Metric{Name: "mine"})
	assert.ErrorIs(t, err, check.ValueError{Name: `metric "mine"`})
	_, err = analysis.PatchStream(t.Context(), store, c, ids, ids[:3], analysis.NextTokenLoss())
	assert.ErrorIs(t, err, check.ValueError{Name: "corrupt", Got: "3"})
	_, err = analysis.PatchHeads(t.Context(), store, c, ids, ids, analysis.NextTokenLoss())
	assert.ErrorIs(t, err, check.ValueError{Name: "corrupt", Want: "a prompt that changes the loss of the next token"})
	_, err = ablateHeads(store, c, ids[:1], analysis.NextTokenLoss())
	assert.ErrorIs(t, err, check.ValueError{Name: "loss", Got: "1"})
	_, err = ablateHeads(store, c, ids, analysis.LogitOf(4, 0, -1))
	assert.ErrorIs(t, err, check.RangeError{Name: "token", N: 4, Got: 4})
	_, err = ablateHeads(store, c, ids, analysis.LogitOf(0, 13, -1))
	assert.ErrorIs(t, err, check.RangeError{Name: "target id", N: 13, Got: 13})
	_, err = ablateHeads(store, c, ids, analysis.LogitOf(0, 0, 13))
	assert.ErrorIs(t, err, check.RangeError{Name: "id to compare with", N: 13, Got: 13})
	_, err = ablate(store, c, ids, []string{"blocks.7.*.heads"}, nil, analysis.NextTokenLoss())
	assert.ErrorIs(t, err, check.UnknownNameError{Kind: "activation", Name: "blocks.7.*.heads"})
}
