package models_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestPresetCounts compares exact parameter counts, in millions, with those of the design
// document, and what the paper prints with our count less what it leaves out.
func TestPresetCounts(t *testing.T) {
	exact := map[string]float64{
		"rmt-46m": 45.90016, "rmt-134m": 134.291072, "rmt-206m": 206.313056, "rmt-305m": 305.128448,
		"transformer-49m": 49.415808, "transformer-162m": 162.541824, "transformer-264m": 263.960704, "transformer-405m": 405.490688,
		"quickstart": 2.244608, "quickstart-transformer": 3.279616,
	}
	for _, p := range models.Presets() {
		require.NoError(t, p.Config.Validate(), p.Name)
		cost := p.Config.Cost()
		require.Contains(t, exact, p.Name)
		assert.Equal(t, int(math.Round(exact[p.Name]*1e6)), cost.Parameters, p.Name)
		delete(exact, p.Name)
		if p.Paper > 0 {
			assert.InDelta(t, p.Paper, asPrinted(p.Config), 0.05, "%s: %s", p.Name, p.PaperNote)
			assert.NotEmpty(t, p.PaperNote, p.Name)
		}
	}
	assert.Empty(t, exact, "presets that are missing")
}

// asPrinted counts in millions what the paper counts: no norm gains, for the transformer
// no positions either (but at 162M).
func asPrinted(c models.Config) float64 {
	n := c.Cost().Parameters - (2*c.Layers+1)*c.StreamSize()
	if c.Stream == models.StreamVector && c.DModel != 768 {
		n -= c.Seq * c.DModel
	}
	return float64(n) / 1e6
}

// TestPresetGraphs builds the graphs of the presets that a test can afford.
func TestPresetGraphs(t *testing.T) {
	names := []string{"quickstart", "quickstart-transformer"}
	if !testing.Short() {
		names = append(names, "rmt-46m", "transformer-49m")
	}
	for _, name := range names {
		p, _, ok := models.FindPreset(name)
		require.True(t, ok)
		assert.Equal(t, p.Config.Cost().Parameters, modeltest.NewStore(t, p.Config, tensor.Float32, 0).Size(), name)
	}
}

// TestPresetInAConfig: a config starts from a preset, its own fields go first; a stream
// of its own means that the preset's values are there already.
func TestPresetInAConfig(t *testing.T) {
	p, _, _ := models.FindPreset("rmt-134m")
	want := p.Config
	want.Preset, want.Layers, want.Dropout = "rmt-134m", 3, 0.1
	assert.Equal(t, want.Resolve(), models.Config{Preset: "rmt-134m", Layers: 3, Dropout: 0.1}.Resolve())
	own := tinyMatrix(func(c *models.Config) { c.Preset = "rmt-134m" })
	assert.Equal(t, own.Cost(), tinyMatrix(func(*models.Config) {}).Cost())
	rope := models.Config{Preset: "rmt-46m", Positions: models.PositionsRoPE}.Resolve()
	assert.Equal(t, 1e4, rope.RopeBase)
}

func TestFindPreset(t *testing.T) {
	_, names, ok := models.FindPreset("rmt-45m")
	assert.False(t, ok)
	assert.IsIncreasing(t, names)
	assert.Len(t, names, len(models.Presets()))
	p, _, ok := models.FindPreset("transformer-264m")
	assert.True(t, ok)
	assert.Equal(t, "transformer-264m", p.Name)
}
