package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestWhatStartsAsATransformerSaysSo: a stream that has all the weights of a vector stream and
// starts as the same function is a stream.PlainAtInit, whose start the conformance suite checks.
func TestWhatStartsAsATransformerSaysSo(t *testing.T) {
	plain := modeltest.Resolve(t, tinyVector(plainly))
	theirs := modeltest.PerturbedStore(t, plain, tensor.Float64)
	b := modeltest.RandomBatch(plain, 2, plain.Seq, 1)
	want := modeltest.Compile(t, plain, theirs, modeltest.Setup{}).On(t, b, graph.RunOptions{})
	checked := 0
	for _, base := range append(zooBases(t), moeBase()) {
		c := modeltest.Resolve(t, base)
		if grown, ok := c.Design().(stream.PlainAtInit); ok && says(grown) || base.FeedForward != nil && c.FeedForwardShape().Experts > 0 {
			continue
		}
		checked++
		ours := modeltest.NewStore(t, c, tensor.Float64, 0)
		if !shareWeights(t, ours, theirs) {
			continue
		}
		got := modeltest.Compile(t, c, ours, modeltest.Setup{}).On(t, b, graph.RunOptions{})
		assert.Greater(t, modeltest.Distance(got.Logits, want.Logits), 1e-6, "%s: want a method Plain", c.Stream.Name())
	}
	assert.NotZero(t, checked)
}

// says tells whether a design says that it starts as a transformer.
func says(d stream.PlainAtInit) bool {
	_, ok := d.Plain()
	return ok
}

// shareWeights copies a transformer's weights, if the other model has all of them.
func shareWeights(t *testing.T, ours, theirs *graph.Store) bool {
	t.Helper()
	for _, p := range theirs.Params() {
		own := ours.Param(p.Name)
		if own == nil || own.Size() != p.Size() {
			return false
		}
		require.NoError(t, graph.SetFloat64s(own.Value, graph.Float64s(p.Value)))
	}
	return true
}
