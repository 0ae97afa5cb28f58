package analysis_test

import (
	"slices"
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

// TestAttributionPatching: gradient times difference is what a small step towards the clean run's
// activation changes, for every activation that is patched, of every design; and the report has the
// metrics and places of patching.
func TestAttributionPatching(t *testing.T) {
	t.Parallel()
	for name, c := range few(t) {
		c := varied(t, c, func(c *models.Config) { c.MaskDocuments = false })
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		corrupt := tokensFor(c, c.Seq, 6)
		clean := slices.Clone(corrupt)
		clean[2] = (clean[2] + 1) % int32(c.Vocab)
		metric := analysis.LogitOf(c.Seq-2, 1, 2)
		checkNearby(t, name, store, c, clean, corrupt, metric)
		if name != "matrix" && name != "vector" {
			continue
		}
		stream, err := analysis.AttributionPatchStream(t.Context(), store, c, clean, corrupt, metric, 1)
		require.NoError(t, err, name)
		measured, err := analysis.PatchStream(t.Context(), store, c, clean, corrupt, metric)
		require.NoError(t, err, name)
		assert.Equal(t, measured.Rows, stream.Rows, name)
		assert.InDelta(t, measured.Clean, stream.Clean, 1e-9, name)
		assert.InDelta(t, measured.Baseline, stream.Baseline, 1e-9, name)
		assert.NotZero(t, stream.Effect[0][2], name)
		for _, row := range stream.Effect {
			assert.Zero(t, row[c.Seq-1], "%s: after the token measured", name)
		}
		heads, err := analysis.AttributionPatchHeads(t.Context(), store, c, clean, corrupt, metric, 1)
		require.NoError(t, err, name)
		assert.Len(t, heads.Effect, c.Layers, name)
	}
}

// checkNearby moves what heads give, and the stream after each attention, a small step to what they
// are in the clean run: the metric moves by gradient times step, up to the step's square.
func checkNearby(t *testing.T, name string, store *graph.Store, spec models.Spec, clean, corrupt []int32, m analysis.Metric) {
	names := []string{"blocks.*.attention.heads", "blocks.*.attention.stream", "embedding.out"}
	r, err := cache.New(store, spec, cache.Options{Names: names})
	require.NoError(t, err, name)
	defer r.Close()
	from, err := r.Run(clean)
	require.NoError(t, err)
	base, err := r.Run(corrupt)
	require.NoError(t, err)
	before, err := m.Of(base)
	require.NoError(t, err)
	gradients, err := cache.Gradients(store, spec, corrupt, cache.LogitSum{Token: spec.Seq - 2, Weights: map[int]float64{1: 1, 2: -1}}, names...)
	require.NoError(t, err, name)
	require.Len(t, gradients, len(r.Names()))
	for _, g := range gradients {
		goal, err := from.Get(g.Name)
		require.NoError(t, err)
		start, err := base.Get(g.Name)
		require.NoError(t, err)
		require.Equal(t, start.Shape, g.Shape)
		const step = 1e-5
		first, difference := 0.0, make([]float64, len(goal.Values))
		for i := range difference {
			difference[i] = goal.Values[i] - start.Values[i]
			first += g.Values[i] * difference[i]
		}
		moved, err := r.Run(corrupt, cache.Steer(g.Name, nil, difference, step))
		require.NoError(t, err)
		after, err := m.Of(moved)
		require.NoError(t, err)
		assert.InDelta(t, first, (after-before)/step, 1e-3*max(1, first), "%s: %s", name, g.Name)
	}
}

// TestAttributionPatchingOfNoPoints: without points between the runs there is the gradient at the
// corrupt run, as with one.
func TestAttributionPatchingOfNoPoints(t *testing.T) {
	c := zoo(t)["vector"]
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	var effects [2][][]float64
	for points := range effects {
		p, err := analysis.AttributionPatchHeads(t.Context(), store, c, tokensFor(c, 4, 1), tokensFor(c, 4, 2), analysis.LogitOf(3, 1, 2), points)
		require.NoError(t, err)
		effects[points] = p.Effect
	}
	assert.Equal(t, effects[1], effects[0])
}

// TestAttributionPatchingErrors: a metric that is not a logit has no gradient here.
func TestAttributionPatchingErrors(t *testing.T) {
	c := zoo(t)["matrix"]
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	ids := tokensFor(c, 4, 1)
	_, err := analysis.AttributionPatchHeads(t.Context(), store, c, ids, ids, analysis.NextTokenLoss(), 1)
	assert.ErrorIs(t, err, check.ValueError{Name: `metric "loss of the next token"`, Got: "another metric"})
	_, err = analysis.AttributionPatchHeads(t.Context(), store, c, ids, ids[:3], analysis.LogitOf(0, 1, 2), 1)
	assert.ErrorIs(t, err, check.ValueError{Name: "corrupt", Got: "3"})
	_, err = analysis.AttributionPatchHeads(t.Context(), store, c, ids, ids, analysis.LogitOf(0, 13, -1), 1)
	assert.ErrorIs(t, err, check.RangeError{Name: "target id", N: 13, Got: 13})
}
