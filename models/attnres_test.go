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

// TestAttentionResidualsStartAsATransformer: with its first queries of 0 and gains of 1 the model
// reads means of the sources. With a transformer's other weights its logits and gradients equal the
// transformer's except for the eps of the norms, which matters because the norms read h divided by
// a number: the difference shrinks in proportion to eps.
func TestAttentionResidualsStartAsATransformer(t *testing.T) {
	for _, c := range []stream.AttnResConfig{{Block: 1}, {Block: 2}, {Block: 3}, {Block: 6}, {Delta: true}} {
		for _, norm := range []string{models.NormLayer, models.NormRMS} {
			coarse, fine := startDistance(t, c, norm, 1e-9), startDistance(t, c, norm, 1e-12)
			assert.Less(t, fine, 1e-7, "%+v, %s", c, norm)
			assert.InEpsilon(t, 1000, coarse/fine, 0.01, "%+v, %s: %g and %g", c, norm, coarse, fine)
		}
	}
	assert.Greater(t, startDistance(t, stream.AttnResConfig{Delta: true, Block: 2}, models.NormLayer, 1e-12), 1e-3, "sites read some outputs more than others")
}

// TestAGateStartsAsTheTransformer: with gates of 0, delta attention residuals have a transformer's
// logits and loss to the last bit, and its gradients except for the order of sums, whatever the
// queries and gains are.
func TestAGateStartsAsTheTransformer(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		plain := modeltest.Resolve(t, tinyVector(func(c *models.Config) { c.Layers = 3 }))
		store := modeltest.PerturbedStore(t, plain, dt)
		b := modeltest.RandomBatch(plain, 2, plain.Seq, 1)
		want := modeltest.Compile(t, plain, store, modeltest.Setup{Gradients: true}).On(t, b, graph.RunOptions{})
		for _, block := range []int{1, 2, 4, 6} {
			c, err := plain.With(func(c *models.Config) {
				*c = c.OnStream(stream.AttnResConfig{Block: block, Delta: true, Gate: true})
			})
			require.NoError(t, err)
			own := modeltest.PerturbedStore(t, c, dt)
			for _, p := range own.Params() {
				switch theirs := store.Param(p.Name); {
				case theirs != nil:
					require.NoError(t, graph.SetFloat64s(p.Value, graph.Float64s(theirs.Value)))
				case p.Size() == 1:
					require.NoError(t, graph.SetFloat64s(p.Value, []float64{0}))
				}
			}
			got := modeltest.Compile(t, c, own, modeltest.Setup{Gradients: true}).On(t, b, graph.RunOptions{})
			assert.Equal(t, want, got, "%v, block %d", dt, block)
			gradients := modeltest.Gradients(own)
			for name, g := range modeltest.Gradients(store) {
				assert.InDeltaSlice(t, g, gradients[name], map[tensor.Dtype]float64{tensor.Float32: 1e-6, tensor.Float64: 1e-15}[dt], "%v, block %d: gradient of %s", dt, block, name)
			}
			assert.NotZero(t, gradients["blocks.2.feedforward.attnres.gate"][0])
		}
	}
}

// startDistance returns the largest difference of logits and gradients from the transformer's, of
// which the largest are about 1.
func startDistance(t *testing.T, design stream.AttnResConfig, norm string, eps float64) float64 {
	t.Helper()
	plain := modeltest.Resolve(t, tinyVector(func(c *models.Config) { c.Layers, c.Norm, c.NormEps = 3, norm, eps }))
	store := modeltest.PerturbedStore(t, plain, tensor.Float64)
	b := modeltest.RandomBatch(plain, 2, plain.Seq, 1)
	want := modeltest.Compile(t, plain, store, modeltest.Setup{Gradients: true}).On(t, b, graph.RunOptions{})
	c, err := plain.With(func(c *models.Config) { *c = c.OnStream(design) })
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

// TestAttentionResidualsBlockKey: a block with more sites than the model has is refused, and the
// error names its key.
func TestAttentionResidualsBlockKey(t *testing.T) {
	for _, block := range []int{-1, 5} {
		_, err := tinyZoo(stream.AttnResConfig{Block: block}, func(c *models.Config) { c.Layers = 2 }).Resolve()
		require.ErrorContains(t, err, "model.stream.block: want 1 to 4, the sites of 2 layers, got ")
	}
}
