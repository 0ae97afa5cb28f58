package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestBFloat16Memory: in precision BF16 the arena of a training step takes half of what it takes in
// float32, plus what stays float32: coefficients, and what a block of the loss needs.
func TestBFloat16Memory(t *testing.T) {
	for name, most := range map[string]float64{"quickstart": 0.55, "quickstart-transformer": 0.55} {
		preset, err := models.Standard().Preset(name)
		require.NoError(t, err)
		spec := modeltest.Resolve(t, preset.Config)
		store := modeltest.NewStore(t, spec, tensor.Float32, 0)
		arena := func(p graph.Precision) float64 {
			return float64(modeltest.Compile(t, spec, store, modeltest.Setup{Rows: 8, Gradients: true, LossOnly: true, Training: true, Precision: p}).Memory().Arena)
		}
		ratio := arena(graph.BF16) / arena(graph.FP32)
		t.Logf("%s: %.3f", name, ratio)
		assert.LessOrEqual(t, ratio, most, name)
	}
}

// TestBFloat16MemoryIsPredicted: the prediction for a training step counts its smaller arena, the
// two copies of each parameter with 2 bytes per entry, and scratch memory for wide copies; in
// float32 it counts no copies, and as scratch memory the loss's logits.
func TestBFloat16MemoryIsPredicted(t *testing.T) {
	preset, err := models.Standard().Preset("quickstart-transformer")
	require.NoError(t, err)
	spec := modeltest.Resolve(t, preset.Config)
	predict := func(p graph.Precision) graph.MemoryNeed {
		m, err := models.PredictMemory(spec, 8, spec.Seq, models.Outputs{Loss: true}, graph.ProgramOptions{Gradients: true, Options: graph.Options{Precision: p, Training: true}})
		require.NoError(t, err)
		return m
	}
	wide, half := predict(graph.FP32), predict(graph.BF16)
	assert.Equal(t, wide.Activations, 2*half.Activations)
	assert.Equal(t, half.Parameters, 2*wide.Parameters)
	assert.Equal(t, 4*8*spec.Seq*spec.Vocab, wide.Scratch)
	hidden := 4 * 8 * spec.Seq * spec.FeedForwardShape().Hidden // bytes of a hidden layer of all tokens
	assert.GreaterOrEqual(t, half.Scratch, 2*hidden)
}
