package models_test

import (
	"maps"
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
	for _, p := range models.Standard().Presets() {
		c := modeltest.Resolve(t, p.Config)
		if assert.Contains(t, exact, p.Name) {
			assert.Equal(t, exact[p.Name], c.Cost().Parameters, p.Name)
			delete(exact, p.Name)
		}
		if p.Paper > 0 {
			counted, tolerance := asPrinted(c)
			assert.InDelta(t, p.Paper, counted, tolerance, "%s: %s", p.Name, p.PaperNote)
			assert.NotEmpty(t, p.PaperNote, p.Name)
		}
	}
	assert.Empty(t, exact, "presets that are missing")
}

// asPrinted counts in millions what the paper counts, and to what it rounds: no norm gains,
// for the transformer no positions either (but at 162M); all of Table 10's other designs, in
// whole millions.
func asPrinted(c models.Spec) (millions, tolerance float64) {
	n := c.Cost().Parameters
	gains := (2*c.Layers + 1) * c.StreamSize()
	switch c.Stream.(type) {
	case stream.MatrixConfig:
		n -= gains
	case stream.VectorConfig:
		n -= gains
		if c.Width() != 768 {
			n -= c.Seq * c.Width()
		}
	default:
		return float64(n) / 1e6, 0.5
	}
	return float64(n) / 1e6, 0.05
}

// TestPresetGraphs: the graph of each preset has as many parameters as the closed form says.
func TestPresetGraphs(t *testing.T) {
	for _, p := range models.Standard().Presets() {
		c, store := modeltest.Resolve(t, p.Config), graph.NewPlan(tensor.Float32)
		_, err := models.New(gorgonia.NewGraph(), c, graph.Options{Store: store})
		require.NoError(t, err, p.Name)
		assert.Equal(t, c.Cost().Parameters, store.Size(), p.Name)
	}
}

// TestPresetByName: a name is that of one preset; an unknown one is an error that lists the
// known ones. What a config says of its preset is for the record alone.
func TestPresetByName(t *testing.T) {
	zoo := models.Standard()
	_, err := zoo.Preset("rmt-45m")
	require.Error(t, err)
	assert.Regexp(t, `^preset: want one of \[rmt-46m .*attention-only\], got "rmt-45m"$`, err.Error())
	names := map[string]bool{}
	for _, p := range zoo.Presets() {
		assert.False(t, names[p.Name], "%s twice", p.Name)
		names[p.Name] = true
		found, err := zoo.Preset(p.Name)
		require.NoError(t, err)
		assert.Equal(t, p, found)
	}
	own := tinyMatrix(func(c *models.Config) { c.Preset = "rmt-134m" })
	assert.NoError(t, modeltest.Resolve(t, own).SameModel(modeltest.Resolve(t, tinyMatrix(plainly))))
}
