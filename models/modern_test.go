package models_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestEveryStreamTakesTheModernBlock: RMSNorm, rotary positions, QK-norm, a value residual, a
// SwiGLU and heads that share keys and values work with every stream of the zoo. All parameters
// that they add are trained, also where blocks are recomputed, and a cache gives the same logits as
// whole rows.
func TestEveryStreamTakesTheModernBlock(t *testing.T) {
	covered := map[string]bool{}
	for _, p := range modeltest.Small(models.Standard()) {
		name := p.Config.Stream.Name()
		if covered[name] {
			continue
		}
		covered[name] = true
		t.Run(name, func(t *testing.T) {
			c := modeltest.Resolve(t, modernized(p.Config))
			checkModernGradients(t, c)
			checkModernCache(t, c)
		})
	}
	assert.Len(t, covered, len(models.Standard().Streams()))
}

// modernized gives a small model the modern block.
func modernized(c models.Config) models.Config {
	c.Norm = models.NormRMS
	c.Attention.Positions, c.Attention.RopeBase, c.Attention.InverseLayerScaling = models.PositionsRoPE, 0, false
	c.Attention.QKNorm, c.Attention.ValueResidual, c.Attention.KVHeads = true, models.ValuesLearned, 2
	if c.Attention.Heads > 0 {
		c.Attention.Heads, c.Attention.HeadDim = 4, 4
	}
	if c.FeedForward != nil {
		c.FeedForward = layers.SwiGLUConfig{Hidden: 10}
	}
	return c
}

// checkModernGradients requires a gradient for each parameter of attention, the same if blocks are
// recomputed.
func checkModernGradients(t *testing.T, spec models.Spec) {
	gradients := func(r graph.Recompute) *graph.Store {
		store := modeltest.PerturbedStore(t, spec, tensor.Float64)
		batch := modeltest.RandomBatch(spec, 2, spec.Seq, 3)
		result := modeltest.Compile(t, spec, store, modeltest.Setup{Gradients: true, LossOnly: true, Recompute: r}).On(t, batch, graph.RunOptions{})
		require.False(t, math.IsNaN(result.Loss))
		return store
	}
	kept, recomputed := gradients(graph.RecomputeNone), gradients(graph.RecomputeBlock)
	found := 0
	for _, p := range kept.Params() {
		grad := graph.Float64s(p.Grad)
		require.Equal(t, grad, graph.Float64s(recomputed.Param(p.Name).Grad), p.Name)
		if strings.HasSuffix(p.Name, ".q_norm") || strings.HasSuffix(p.Name, ".k_norm") || strings.HasSuffix(p.Name, ".value_residual") {
			found++
			assert.NotContains(t, grad, 0.0, p.Name)
		}
	}
	assert.Equal(t, 3*spec.Layers-1, found)
	if spec.Shape().Has(stream.FeedForward) {
		assert.NotNil(t, kept.Param("blocks.0.feedforward.w3"))
	}
}

// checkModernCache compares the logits of tokens given one by one with those of whole rows.
func checkModernCache(t *testing.T, spec models.Spec) {
	store, batch := modeltest.PerturbedStore(t, spec, tensor.Float64), modeltest.RandomBatch(spec, 2, spec.Seq, 5)
	want := modeltest.Compile(t, spec, store, modeltest.Setup{}).On(t, batch, graph.RunOptions{}).Logits
	cache, err := graph.NewCache(2, spec.Seq)
	require.NoError(t, err)
	p := modeltest.Compile(t, spec, store, modeltest.Setup{Seq: 1, Cache: cache})
	for i := range spec.Seq {
		part := modeltest.Batch{Rows: 2, Seq: 1, Inputs: []int32{batch.Inputs[i], batch.Inputs[spec.Seq+i]}}
		logits := p.On(t, part, graph.RunOptions{}).Logits
		for r := range 2 {
			assert.InDeltaSlice(t, want[(r*spec.Seq+i)*spec.Vocab:][:spec.Vocab], logits[r*spec.Vocab:][:spec.Vocab], 1e-11, "row %d, token %d", r, i)
		}
	}
}
