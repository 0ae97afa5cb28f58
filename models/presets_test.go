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
)

// TestPresetCounts compares exact parameter counts with those worked out by hand, and the sizes that
// the paper prints, 46M to 405M, with them. The printed sizes are too coarse for what the paper's own count
// leaves out, at most 0.6M, to matter.
func TestPresetCounts(t *testing.T) {
	exact := map[string]int{
		"rmt-46m": 45_900_160, "rmt-134m": 134_291_072, "rmt-206m": 206_313_056, "rmt-305m": 305_128_448,
		"transformer-49m": 49_415_808, "transformer-162m": base162m, "transformer-264m": 263_960_704, "transformer-405m": 405_490_688,
		"quickstart": 2_244_608, "quickstart-transformer": baseQuickstart,
	}
	maps.Copy(exact, zooCounts())
	maps.Copy(exact, quickstartCounts())
	printed := map[string]float64{}
	for _, p := range models.Standard().Presets() {
		c := modeltest.Resolve(t, p.Config)
		if assert.Contains(t, exact, p.Name) {
			assert.Equal(t, exact[p.Name], c.Cost().Parameters, p.Name)
			delete(exact, p.Name)
		}
		assert.Equal(t, c.Norm == models.NormRMS && c.Attention.QKNorm, p.Modern, "%s: the modern block", p.Name)
		if p.Paper > 0 {
			printed[p.Name] = p.Paper
			assert.True(t, p.RoundsToPaper(c.Cost().Parameters), "%s: printed %v, computed %d", p.Name, p.Paper, c.Cost().Parameters)
			assert.NotEmpty(t, p.PaperNote, p.Name)
		}
	}
	assert.Empty(t, exact, "presets that are missing")
	assert.Equal(t, map[string]float64{
		"rmt-46m": 46, "rmt-134m": 134, "rmt-206m": 206, "rmt-305m": 305, "transformer-49m": 49, "transformer-162m": 160, "transformer-264m": 260, "transformer-405m": 405,
		"rmt-134m-lecun": 134, "highway-191m": 191, "hieragg-165m": 165, "dwlstm-233m": 233,
	}, printed)
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
