package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestBandwidthOfTransformers: half way through a transformer of 50 layers a hundred times as
// many neurons as the stream has dimensions have written to it, and as many will read it
// (Elhage et al. 2021, "Subspaces and Residual Stream Bandwidth").
func TestBandwidthOfTransformers(t *testing.T) {
	const d = 64
	b, err := analysis.CountBandwidth(modeltest.Resolve(t, transformer(50, d, 4*d, 4, 99, 8)))
	require.NoError(t, err)
	middle := 2 + 2*25 - 1 // the feed-forward of layer 24, after the two tables
	require.Equal(t, "blocks.24.feedforward", b.Sites[middle].Site)
	const tables, heads, neurons = 2 * d, 25 * d, 100 * d
	assert.Equal(t, d, b.Dimensions)
	assert.Equal(t, tables+heads+neurons, b.Sites[middle].Before)
	assert.Equal(t, 3*heads+neurons+d, b.Sites[middle].After, "queries, keys and values, neurons, the unembedding")
	assert.InDelta(t, 127, b.Sites[middle].Ratio, 1e-12)
	checkResult(t, b)
}

// TestBandwidthOfTheZoo counts streams' dimensions by hand.
func TestBandwidthOfTheZoo(t *testing.T) {
	type count struct{ dimensions, width, written, read int }
	all := zoo(t)
	counts := map[string]count{
		// 3 blocks: Dk 5, Dv 6, R 3: heads write R*Dv = 18, 11 neurons; tables 2 x 18
		"matrix":     {30, 18, 2*18 + 3*(18+11), 3*(3*18+11) + 18},
		"matrix/moe": {30, 18, 2*18 + 3*(18+3*11), 3*(3*18+3*11) + 18},
		// 4 blocks: D 12, heads 12, 17 neurons; tables 2 x 12
		"vector":      {12, 12, 2*12 + 4*(12+17), 4*(36+17) + 12},
		"vector/gpt2": {12, 12, 2*12 + 4*(15+17), 4*(45+17) + 12},
	}
	for _, rows := range rowsOfDesigns(t) {
		for name, row := range rows.Models {
			if n := row.Bandwidth; n != nil {
				require.Len(t, n, 4, name)
				counts[name] = count{n[0], n[1], n[2], n[3]}
			}
		}
	}
	for name, want := range counts {
		b, err := analysis.CountBandwidth(all[name])
		require.NoError(t, err, name)
		comparison, err := analysis.CompareBandwidth([]models.Preset{{Name: name, Config: all[name].Config}})
		require.NoError(t, err)
		m := comparison.Models[0]
		assert.Equal(t, want, count{m.Dimensions, m.Width, m.Written, m.Read}, name)
		assert.InDelta(t, float64(want.written)/float64(want.dimensions), m.Ratio, 1e-12)
		checkResult(t, b)
	}
}

// TestBandwidthOfPresets: every preset is counted; the RMT's stream is as wide as a site
// reaches R/Dk of.
func TestBandwidthOfPresets(t *testing.T) {
	all, err := analysis.CompareBandwidth(models.Standard().Presets())
	require.NoError(t, err)
	require.Len(t, all.Models, len(models.Standard().Presets()))
	checkResult(t, all)
	for i, p := range models.Standard().Presets() {
		if s, ok := p.Config.Stream.(stream.MatrixConfig); ok {
			assert.InDelta(t, float64(s.Rank)/float64(s.Dk), all.Models[i].Share, 1e-12, p.Name)
		}
	}
	_, err = analysis.CompareBandwidth(nil)
	assert.ErrorIs(t, err, check.ValueError{Name: "bandwidth", Got: "none"})
	_, err = analysis.CountBandwidth(models.Spec{})
	assert.Error(t, err, "no Spec")
	_, err = analysis.CompareBandwidth([]models.Preset{{Name: "odd"}})
	assert.ErrorContains(t, err, "odd: model.stream")
	_, err = analysis.CompareBandwidth([]models.Preset{{Name: "short", Config: models.Config{Stream: vectorOf(8)}}})
	assert.ErrorContains(t, err, "short: model.layers")
}
