package models_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// TestTrainingMemoryIsALittleLessThanThePlan: parameters, gradients and moments are exact;
// activations lie below the buffers that a plan of the graph finds, so that no run which fits
// is refused, and not far below.
func TestTrainingMemoryIsALittleLessThanThePlan(t *testing.T) {
	const batch = 3
	for _, p := range models.Presets() {
		if testing.Short() && p.Config.Layers > 4 {
			continue
		}
		for _, recompute := range []graph.Recompute{graph.RecomputeNone, graph.RecomputeBlock} {
			o := graph.ProgramOptions{Gradients: true, Recompute: recompute, Options: graph.Options{Training: true}}
			want, err := models.PredictMemory(p.Config, batch, p.Config.Seq, models.Outputs{Loss: true, ExpertCounts: true}, o)
			require.NoError(t, err)
			got := p.Config.TrainingMemory(batch, recompute)
			assert.Equal(t, []int{want.Parameters, want.Gradients, want.Moments}, []int{got.Parameters, got.Gradients, got.Moments}, p.Name)
			assert.LessOrEqual(t, got.Activations, want.Activations, "%s, recompute %s", p.Name, recompute)
			assert.Greater(t, float64(got.Activations), 0.6*float64(want.Activations), "%s, recompute %s", p.Name, recompute)
		}
	}
}

// TestCostOfAnySizeIsNeverSmall: counts beyond an int are its largest value, and do not come
// out small or negative.
func TestCostOfAnySizeIsNeverSmall(t *testing.T) {
	const most = math.MaxInt32
	for _, stream := range []string{models.StreamMatrix, models.StreamVector, models.StreamHyper, models.StreamVWN, models.StreamHighway, models.StreamHierAgg, models.StreamDWLSTM} {
		c := models.Config{Stream: stream, Layers: most - 1, Vocab: most, Seq: most, FF: most}
		switch stream {
		case models.StreamMatrix:
			c.Dk, c.Dv, c.Rank = most, most, most
		case models.StreamVWN:
			c.N, c.M = most, 1
		case models.StreamDWLSTM:
			c.FF = 0
		}
		if stream != models.StreamMatrix {
			c.DModel, c.Heads = most, 1
		}
		require.NoError(t, c.Validate(), stream)
		cost := c.Cost()
		for name, n := range map[string]int{"parameters": cost.Parameters, "FLOPs": cost.ForwardFLOPs, "activations": cost.ActivationBytes} {
			assert.Greater(t, n, math.MaxInt/64, "%s: %s", stream, name)
		}
		need := c.TrainingMemory(math.MaxInt, graph.RecomputeNone)
		assert.Greater(t, need.Total(), math.MaxInt/8, stream)
	}
}

// TestSizesHaveBounds: each size of a config, whose products with another an int still counts.
func TestSizesHaveBounds(t *testing.T) {
	for field, change := range map[string]func(*models.Config){
		"layers":   func(c *models.Config) { c.Layers = 1 << 40 },
		"ff":       func(c *models.Config) { c.FF = 1e12 },
		"d_model":  func(c *models.Config) { c.DModel = 1 << 32 },
		"seq":      func(c *models.Config) { c.Seq = math.MaxInt },
		"vocab":    func(c *models.Config) { c.Vocab = math.MaxInt },
		"head_dim": func(c *models.Config) { c.HeadSize = math.MaxInt },
		"experts":  func(c *models.Config) { c.Experts = math.MaxInt },
		"n":        func(c *models.Config) { c.Stream, c.N = models.StreamHyper, math.MaxInt },
	} {
		c := models.Config{Stream: models.StreamVector, Layers: 1, DModel: 8, Heads: 2, FF: 8, Vocab: 8, Seq: 8}
		change(&c)
		var wrong *models.FieldError
		require.ErrorAs(t, c.Validate(), &wrong, field)
		assert.Equal(t, field, wrong.Field)
		assert.Contains(t, wrong.Problem, "want at most 2147483647, got ")
	}
	c := models.Config{Stream: models.StreamMHC, Layers: 1, DModel: 8, Heads: 2, FF: 8, Vocab: 8, Seq: 8, SinkhornIterations: 1e9}
	assert.EqualError(t, c.Validate(), "model.sinkhorn_iterations: want 1 to 1000, got 1000000000")
}

// TestParametersBeyondMemoryAreRefused: before any of them is made, in one line that says what
// would fit.
func TestParametersBeyondMemoryAreRefused(t *testing.T) {
	c := models.Config{Stream: models.StreamMatrix, Layers: 4, Dk: 32, Dv: 32, Rank: 8, FF: 1 << 30, Vocab: 257, Seq: 128, Positions: models.PositionsALiBi}
	_, err := models.New(gorgonia.NewGraph(), c)
	require.Error(t, err)
	assert.Regexp(t, `^models: want about 8\.8 TB of memory \(parameters 8\.8 TB\), got \S+ [GM]B available: model.ff=\d+ would fit$`, err.Error())
	c.Dk = 1 << 30
	_, err = models.New(gorgonia.NewGraph(), c)
	assert.ErrorContains(t, err, "no single size makes it fit: start from a preset")
}

// TestSmallerSizesFit: what is advised fits and is valid; twice as much does not.
func TestSmallerSizesFit(t *testing.T) {
	c := models.Config{Stream: models.StreamVector, Layers: 24, DModel: 1024, Heads: 16, FF: 4096, Vocab: 257, Seq: 512}
	limit := c.Cost().Parameters / 2
	fits := func(c models.Config) bool { return c.Cost().Parameters <= limit }
	changes := c.Smaller("model.", fits)
	assert.Equal(t, "model.d_model=512 or model.layers=6 or model.ff=512 would fit", models.Changes(changes).String())
}
