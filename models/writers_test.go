package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestWriters: each writer names an activation of the model, and a weight and bias that are
// parameters of the model; every site that writes has one writer.
func TestWriters(t *testing.T) {
	for name, config := range splitConfigs() {
		_, keyed := config.Stream.(stream.MatrixConfig)
		config.Bias = config.Norm != models.NormRMS && !keyed
		c := modeltest.Resolve(t, config)
		store := modeltest.PerturbedStore(t, c, tensor.Float32)
		m, err := models.New(gorgonia.NewGraph(), c, graph.Options{Store: store})
		require.NoError(t, err, name)
		m.Forward(m.Builder().Input("tokens", tensor.Int32, 1, 1))
		require.NoError(t, m.Err(), name)
		seen := map[string]bool{}
		for _, w := range m.Writers() {
			assert.False(t, seen[w.Name], "%s: %s twice", name, w.Name)
			seen[w.Name] = true
			assert.Contains(t, m.Builder().ActivationNames(), w.Activation, name)
			assert.Positive(t, w.Parts, "%s: %s", name, w.Name)
			for _, p := range []string{w.Weight, w.Bias} {
				assert.True(t, p == "" || store.Param(p) != nil, "%s: %s: parameter %s", name, w.Name, p)
			}
		}
		assert.GreaterOrEqual(t, len(seen), 1+c.Layers, name)
	}
}

// TestLogitsOf: logits computed without the graph agree with UnembeddingWeights at the parameters'
// precision.
func TestLogitsOf(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		c := modeltest.Resolve(t, tinyMatrix(authors))
		m, err := models.New(gorgonia.NewGraph(), c, graph.Options{DType: dt, Store: modeltest.PerturbedStore(t, c, dt)})
		require.NoError(t, err)
		weights, width, vocab := m.UnembeddingWeights(), c.Width(), c.Vocab
		features := make([]float64, 2*width)
		for i := range features {
			features[i] = float64(i%7) - 3
		}
		logits, err := m.LogitsOf(features)
		require.NoError(t, err)
		require.Len(t, logits, 2*vocab)
		for id := range vocab {
			direction, err := m.LogitDirection(id)
			require.NoError(t, err)
			for row := range 2 {
				want := 0.0
				for i, v := range direction {
					assert.InDelta(t, weights[i*vocab+id], v, 1e-7)
					want += v * features[row*width+i]
				}
				assert.InDelta(t, want, logits[row*vocab+id], 1e-5)
			}
		}
		_, err = m.LogitDirection(vocab)
		assert.ErrorContains(t, err, "models: logit: want an id of 0 to ")
		_, err = m.LogitsOf(features[1:])
		assert.ErrorContains(t, err, "models: logits: want rows of ")
	}
}
