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

// withOptions gives a config a vector stream of width 15 with options.
func withOptions(layerScale bool, x0 string) func(c *models.Config) {
	return onStream(stream.VectorConfig{Vectors: width(15), LayerScale: layerScale, X0: x0})
}

// TestNeutralX0IsTheVectorStream: at lambda 1 and mu 0 logits, loss and gradients equal the plain
// stream's bit for bit.
func TestNeutralX0IsTheVectorStream(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		plain, own := modeltest.Resolve(t, tinyVector(plainly)), modeltest.Resolve(t, tinyVector(withOptions(false, "neutral")))
		theirs, ours := modeltest.PerturbedStore(t, plain, dt), modeltest.NewStore(t, own, dt, 0)
		require.True(t, shareWeights(t, ours, theirs))
		b, training := modeltest.RandomBatch(plain, 2, plain.Seq, 1), modeltest.Setup{Gradients: true}
		want := modeltest.Compile(t, plain, theirs, training).On(t, b, graph.RunOptions{})
		got := modeltest.Compile(t, own, ours, training).On(t, b, graph.RunOptions{})
		assert.Equal(t, want.Logits, got.Logits)
		assert.Equal(t, want.Loss, got.Loss)
		gradients := modeltest.Gradients(ours)
		for name, g := range modeltest.Gradients(theirs) {
			assert.Equal(t, g, gradients[name], name)
		}
		assert.NotZero(t, gradients["blocks.0.x0"][0])
		assert.NotZero(t, gradients["blocks.1.x0"][1])
	}
}

// TestOptionsStart: nanochat's weights decrease over the blocks; gains start smaller in deeper
// models.
func TestOptionsStart(t *testing.T) {
	starts := func(layers int, x0, name string) []float64 {
		c := modeltest.Resolve(t, tinyVector(func(c *models.Config) { withOptions(true, x0)(c); c.Layers = layers }))
		p := modeltest.NewStore(t, c, tensor.Float64, 0).Param(name)
		require.NotNil(t, p, name)
		assert.False(t, p.Decay, name)
		return graph.Float64s(p.Value)
	}
	assert.InDeltaSlice(t, []float64{1.15, 0.2}, starts(3, "nanochat", "blocks.0.x0"), 1e-15)
	assert.InDeltaSlice(t, []float64{1.1, 0.125}, starts(3, "nanochat", "blocks.1.x0"), 1e-15)
	assert.InDeltaSlice(t, []float64{1.05, 0.05}, starts(3, "nanochat", "blocks.2.x0"), 1e-15)
	assert.Equal(t, []float64{1.15, 0.2}, starts(1, "nanochat", "blocks.0.x0"))
	assert.Equal(t, []float64{1, 0}, starts(2, "neutral", "blocks.1.x0"))
	for layers, want := range map[int]float64{18: 0.1, 19: 1e-5, 24: 1e-5, 25: 1e-6} {
		assert.Equal(t, want, starts(layers, "none", "blocks.0.feedforward.scale")[14], "%d blocks", layers)
	}
}
