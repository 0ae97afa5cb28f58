package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestPresetCounts compares exact parameter counts with numbers derived by hand, and with the sizes
// that the paper prints, 46M to 405M. The printed sizes are so coarse that it does not matter what
// the paper's own count leaves out, at most 0.6M.
func TestPresetCounts(t *testing.T) {
	rows := presetRows(t)
	for _, p := range models.Standard().Presets() {
		c, row := modeltest.Resolve(t, p.Config), rows[p.Name]
		if assert.Contains(t, rows, p.Name) {
			row.checkCounts(t, p.Name, rows)
		}
		_, gated := c.FeedForward.(layers.SwiGLUConfig)
		assert.Equal(t, c.Norm == models.NormRMS && c.Attention.QKNorm && gated, p.Modern, "%s: the modern block", p.Name)
		assert.Equal(t, row.Paper, p.Paper, "%s: millions as printed", p.Name)
		if p.Paper > 0 {
			assert.True(t, p.RoundsToPaper(c.Cost().Parameters), "%s: printed %v, computed %d", p.Name, p.Paper, c.Cost().Parameters)
			assert.NotEmpty(t, p.PaperNote, p.Name)
		}
	}
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

// TestPresetByName: no two presets share a name, and an unknown name is an error that lists the
// known ones. The preset that a config names is kept only as a record.
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
