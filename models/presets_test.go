package models_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestPresetCounts compares exact parameter counts with those of the design document, and
// what the paper prints, in millions, with our count less what it leaves out.
func TestPresetCounts(t *testing.T) {
	exact := map[string]int{
		"rmt-46m": 45_900_160, "rmt-134m": 134_291_072, "rmt-206m": 206_313_056, "rmt-305m": 305_128_448,
		"transformer-49m": 49_415_808, "transformer-162m": base162m, "transformer-264m": 263_960_704, "transformer-405m": 405_490_688,
		"quickstart": 2_244_608, "quickstart-transformer": baseQuickstart,
	}
	maps.Copy(exact, zooCounts())
	maps.Copy(exact, quickstartCounts())
	for _, p := range models.Presets() {
		require.NoError(t, p.Config.Validate(), p.Name)
		if assert.Contains(t, exact, p.Name) {
			assert.Equal(t, exact[p.Name], p.Config.Cost().Parameters, p.Name)
			delete(exact, p.Name)
		}
		if p.Paper > 0 {
			counted, tolerance := asPrinted(p.Config)
			assert.InDelta(t, p.Paper, counted, tolerance, "%s: %s", p.Name, p.PaperNote)
			assert.NotEmpty(t, p.PaperNote, p.Name)
		}
	}
	assert.Empty(t, exact, "presets that are missing")
}

// asPrinted counts in millions what the paper counts, and to what it rounds: no norm gains,
// for the transformer no positions either (but at 162M); all of Table 10's other designs, in
// whole millions.
func asPrinted(c models.Config) (millions, tolerance float64) {
	n := c.Cost().Parameters
	if c.Stream != models.StreamMatrix && c.Stream != models.StreamVector {
		return float64(n) / 1e6, 0.5
	}
	n -= (2*c.Layers + 1) * c.StreamSize()
	if c.Stream == models.StreamVector && c.DModel != 768 {
		n -= c.Seq * c.DModel
	}
	return float64(n) / 1e6, 0.05
}

// TestPresetGraphs builds the graphs of the presets that a test can afford.
func TestPresetGraphs(t *testing.T) {
	for _, p := range models.Presets() {
		if small := strings.HasPrefix(p.Name, "quickstart"); small || !testing.Short() && p.Config.Cost().Parameters < 60e6 {
			assert.Equal(t, p.Config.Cost().Parameters, modeltest.NewStore(t, p.Config, tensor.Float32, 0).Size(), p.Name)
		}
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
