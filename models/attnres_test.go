package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestAttentionResidualsStartAsATransformer: with its first queries, 0, and gains, 1, it reads means
// of the sources, and with a transformer's other weights has that one's logits and gradients up to
// what the norms' eps makes of h over a number: the difference goes to 0 with eps, in proportion.
func TestAttentionResidualsStartAsATransformer(t *testing.T) {
	for _, block := range []int{1, 2, 3, 6} {
		for _, norm := range []string{models.NormLayer, models.NormRMS} {
			coarse, fine := startDistance(t, block, norm, 1e-9), startDistance(t, block, norm, 1e-12)
			assert.Less(t, fine, 1e-7, "block %d, %s", block, norm)
			assert.InEpsilon(t, 1000, coarse/fine, 0.01, "block %d, %s: %g and %g", block, norm, coarse, fine)
		}
	}
}

// startDistance is the largest difference of logits and gradients from the transformer's, whose own
// largest are about 1.
func startDistance(t *testing.T, block int, norm string, eps float64) float64 {
	t.Helper()
	plain := modeltest.Resolve(t, tinyVector(func(c *models.Config) { c.Layers, c.Norm, c.NormEps = 3, norm, eps }))
	store := modeltest.PerturbedStore(t, plain, tensor.Float64)
	b := modeltest.RandomBatch(plain, 2, plain.Seq, 1)
	want := modeltest.Compile(t, plain, store, modeltest.Setup{Gradients: true}).On(t, b, graph.RunOptions{})
	c, err := plain.With(func(c *models.Config) { *c = c.OnStream(stream.AttnResConfig{Block: block}) })
	require.NoError(t, err)
	own := modeltest.NewStore(t, c, tensor.Float64, 0)
	for _, p := range store.Params() {
		require.NoError(t, graph.SetFloat64s(own.Param(p.Name).Value, graph.Float64s(p.Value)))
	}
	got := modeltest.Compile(t, c, own, modeltest.Setup{Gradients: true}).On(t, b, graph.RunOptions{})
	distance := modeltest.Distance(want.Logits, got.Logits)
	gradients := modeltest.Gradients(own)
	for name, g := range modeltest.Gradients(store) {
		distance = max(distance, modeltest.Distance(g, gradients[name]))
	}
	return distance
}

// TestAttentionResidualsBlockKey: a block of more sites than there are is refused by its key.
func TestAttentionResidualsBlockKey(t *testing.T) {
	for _, block := range []int{-1, 5} {
		_, err := tinyZoo(stream.AttnResConfig{Block: block}, func(c *models.Config) { c.Layers = 2 }).Resolve()
		require.ErrorContains(t, err, "model.stream.block: want 1 to 4, the sites of 2 layers, got ")
	}
}
