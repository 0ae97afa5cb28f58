package models_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestTrainingMemoryIsALittleLessThanThePlan: TrainingMemory counts parameters, gradients and
// moments exactly, and activations slightly below the buffers that a plan of the graph finds, so
// that it refuses no run that fits.
func TestTrainingMemoryIsALittleLessThanThePlan(t *testing.T) {
	const batch = 3
	for _, p := range models.Standard().Presets() {
		c := modeltest.Resolve(t, p.Config)
		if !longtest.Enabled() && c.Layers > 4 {
			continue
		}
		whole := 0
		for _, recompute := range []graph.Recompute{graph.RecomputeNone, graph.RecomputeCheap, graph.RecomputeBlock} {
			o := graph.ProgramOptions{Gradients: true, Recompute: recompute, Options: graph.Options{Training: true}}
			want, err := models.PredictMemory(c, batch, c.Seq, models.Outputs{Loss: true, ExpertCounts: true}, o)
			require.NoError(t, err)
			got := c.TrainingMemory(batch, recompute)
			assert.Equal(t, []int{want.Parameters, want.Gradients, want.Moments}, []int{got.Parameters, got.Gradients, got.Moments}, p.Name)
			assert.LessOrEqual(t, got.Activations, want.Activations, "%s, recompute %s", p.Name, recompute)
			if recompute == graph.RecomputeCheap { // TrainingMemory knows the bound for blocks alone
				assert.Less(t, want.Activations, whole, "%s, recompute %s", p.Name, recompute)
				continue
			}
			whole = want.Activations
			assert.Greater(t, float64(got.Activations), 0.6*float64(want.Activations), "%s, recompute %s", p.Name, recompute)
		}
	}
}

// TestCostOfAnySizeIsNeverSmall: a count that overflows an int becomes the largest int, and never a
// small or negative number.
func TestCostOfAnySizeIsNeverSmall(t *testing.T) {
	const most = math.MaxInt32
	large := tinyVector(func(c *models.Config) {
		c.Stream, c.Attention.Heads, c.FeedForward = vectorOf(most), 1, gelu(most)
	})
	for _, config := range []models.Config{
		tinyMatrix(func(c *models.Config) {
			c.Stream, c.FeedForward = stream.MatrixConfig{Dk: most, Dv: most, Rank: most}, gelu(most)
		}),
		large, large.OnStream(stream.HyperConfig{}), large.OnStream(stream.VWNConfig{N: most, M: 1}), large.OnStream(stream.HighwayConfig{}),
		large.OnStream(stream.HieraggConfig{}), large.OnStream(stream.DWLSTMConfig{}), large.OnStream(stream.GatedResidualConfig{N: most, Rank: most}),
	} {
		config.Layers, config.Vocab, config.Seq = most-1, most, most
		c, name := modeltest.Resolve(t, config), config.Stream.Name()
		cost := c.Cost()
		for what, n := range map[string]int{"parameters": cost.Parameters, "FLOPs": cost.ForwardFLOPs, "activations": cost.ActivationBytes} {
			assert.Greater(t, n, math.MaxInt/64, "%s: %s", name, what)
		}
		need := c.TrainingMemory(math.MaxInt, graph.RecomputeNone)
		assert.Greater(t, need.Total(), math.MaxInt/8, name)
	}
}

// TestSizesHaveBounds: each size of a config has a bound at which its products with other sizes
// still fit in an int.
func TestSizesHaveBounds(t *testing.T) {
	for field, change := range map[string]func(*models.Config){
		"layers":              func(c *models.Config) { c.Layers = min(1<<40, math.MaxInt) },
		"feedforward.hidden":  func(c *models.Config) { c.FeedForward = gelu(min(1e12, math.MaxInt)) },
		"stream.d_model":      func(c *models.Config) { c.Stream = vectorOf(min(1<<32, math.MaxInt)) },
		"seq":                 func(c *models.Config) { c.Seq = math.MaxInt },
		"vocab":               func(c *models.Config) { c.Vocab = math.MaxInt },
		"attention.heads":     func(c *models.Config) { c.Attention.Heads = math.MaxInt },
		"attention.head_dim":  func(c *models.Config) { c.Attention.HeadDim = math.MaxInt },
		"feedforward.experts": experts(math.MaxInt, 1),
		"stream.n":            func(c *models.Config) { *c = c.OnStream(stream.HyperConfig{N: math.MaxInt}) },
	} {
		c := tinyVector(plainly)
		change(&c)
		var wrong *models.FieldError
		require.ErrorAs(t, problem(c), &wrong, field)
		assert.Equal(t, field, wrong.Field)
		assert.Contains(t, wrong.Problem, "want at most 2147483647, got ")
	}
	c := tinyZoo(stream.MHCConfig{Iterations: 1e9}, plainly)
	assert.EqualError(t, problem(c), "model.stream.sinkhorn_iterations: want 1 to 1000, got 1000000000")
}

// TestParametersBeyondMemoryAreRefused: parameters that do not fit in memory are refused before any
// is made, in one line that says what would fit.
func TestParametersBeyondMemoryAreRefused(t *testing.T) {
	keys := stream.MatrixConfig{Dk: 32, Dv: 32, Rank: 8}
	c := models.Config{Stream: keys, Layers: 4, FeedForward: gelu(1 << 30), Vocab: 257, Seq: 128, Attention: models.Attention{Positions: models.PositionsALiBi}}
	_, err := models.New(gorgonia.NewGraph(), modeltest.Resolve(t, c), graph.Options{})
	require.Error(t, err)
	assert.Regexp(t, `^models: want about 8\.8 TB of memory \(parameters 8\.8 TB\), got \S+ [GM]B available: model.feedforward.hidden=\d+ would fit$`, err.Error())
	keys.Dk = 1 << 30
	c.Stream = keys
	_, err = models.New(gorgonia.NewGraph(), modeltest.Resolve(t, c), graph.Options{})
	assert.ErrorContains(t, err, "no single size makes it fit: start from a preset")
}

// TestSmallerSizesFit: the advised sizes are valid and fit; sizes twice as large do not fit.
func TestSmallerSizesFit(t *testing.T) {
	c := modeltest.Resolve(t, models.Config{Stream: vectorOf(1024), Layers: 24, Attention: models.Attention{Heads: 16}, FeedForward: gelu(4096), Vocab: 257, Seq: 512})
	limit := c.Cost().Parameters / 2
	fits := func(spec models.Spec) bool { return spec.Cost().Parameters <= limit }
	changes := c.Smaller("model.", fits)
	assert.Equal(t, "model.stream.d_model=512 or model.layers=6 or model.feedforward.hidden=512 would fit", changes.String())

	looped := modeltest.Resolve(t, tinyVector(looped(2, 0, 2, 8)))
	changes = looped.Smaller("model.", func(spec models.Spec) bool {
		return 2*spec.TrainingMemory(1, graph.RecomputeNone).Activations <= looped.TrainingMemory(1, graph.RecomputeNone).Activations
	})
	assert.Contains(t, changes.String(), "or model.loops=2 or")
}
