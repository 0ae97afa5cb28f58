package models_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestInitialCoefficients: the coefficients that mix rows start as the papers say, row by row
// [A_down | A_carry | B']; site k of hyper-connections reads row k mod n. Weights that are
// multiplied by the stream start at 0 and decay, the others do not decay.
func TestInitialCoefficients(t *testing.T) {
	for name, row := range map[string]struct {
		config   models.Config
		constant map[string][][]float64 // by site
	}{
		"hyper": {tinyZoo(stream.HyperConfig{N: 3, Dynamic: true}, plainly), map[string][][]float64{
			"hyper.static": {
				{1, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1},
				{0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 0, 1, 1},
				{0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 1},
				{1, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1},
			},
			"hyper.scale": {{0.01, 0.01}},
			"hyper.w":     {zeros(15 * 5)},
		}},
		"mhc": {tinyZoo(stream.MHCConfig{N: 2}, plainly), map[string][][]float64{
			"mhc.alpha": {{0.01, 0.01, 0.01}},
			"mhc.b":     {{1, -1, 0, 0, 0, -8, -8, 0}, {-1, 1, 0, 0, 0, -8, -8, 0}, {1, -1, 0, 0, 0, -8, -8, 0}, {-1, 1, 0, 0, 0, -8, -8, 0}},
			"mhc.phi":   {zeros(2 * 15 * 8)},
		}},
		"mhc-lite": {tinyZoo(stream.MHCLiteConfig{N: 3}, func(c *models.Config) { c.Layers = 1 }), map[string][][]float64{
			"mhc.alpha": {{0.01, 0.01, 0.01}},
			"mhc.b":     {{1, -1, -1, 0, 0, 0, 0, -8, -8, -8, -8, -8}, {-1, 1, -1, 0, 0, 0, 0, -8, -8, -8, -8, -8}},
			"mhc.phi":   {zeros(3 * 15 * 12)},
		}},
		"kromhc": {tinyZoo(stream.KromHCConfig{N: 4}, func(c *models.Config) { c.Layers = 1 }), map[string][][]float64{
			"mhc.alpha": {{0.01, 0.01, 0.01}},
			"mhc.b":     {{1, -1, -1, -1, 1, -1, -1, -1, 0, -8, 0, -8}, {-1, 1, -1, -1, -1, 1, -1, -1, 0, -8, 0, -8}},
			"mhc.phi":   {zeros(4 * 15 * 12)},
		}},
		"gated-residual": {tinyZoo(stream.GatedResidualConfig{N: 2}, plainly), map[string][][]float64{"gated.norm": {ones(2 * 15)}}},
		"wide": {tinyZoo(stream.WideConfig{N: 3, Retention: true, MaxForget: 0.5}, plainly), map[string][][]float64{
			"wide.read":  {{-math.Log(2), -math.Log(2), -math.Log(2)}}, // sigmoid of which is 1/3
			"wide.write": {{-0.01, 0, 0.01}},
			"wide.keep":  {{math.Log(499), math.Log(499), math.Log(499)}}, // 1 - 0.5 sigmoid(-c) = 0.999
		}},
		"vwn": {tinyZoo(stream.VWNConfig{Vectors: width(18), M: 2, N: 3}, plainly), map[string][][]float64{
			"vwn.static": {{1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0}}, // slot 2 is written as slot 0 is
			"vwn.scale":  {ones(3 * 7)},
			"vwn.w":      {zeros(9 * 7)},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			store, index := modeltest.NewStore(t, modeltest.Resolve(t, row.config), tensor.Float64, 3), 0
			sites(row.config.Layers, func(prefix string) {
				for parameter, at := range row.constant {
					p := store.Param(prefix + parameter)
					require.NotNil(t, p, prefix+parameter)
					assert.InDeltaSlice(t, at[index%len(at)], p.Value.Float64s(), 1e-12, p.Name)
					assert.Equal(t, p.Value.Float64s()[0] == 0 && allEqual(p.Value.Float64s()), p.Decay, "decay of %q", p.Name)
				}
				index++
			})
		})
	}
}

func zeros(n int) []float64 { return make([]float64, n) }

func ones(n int) []float64 {
	values := zeros(n)
	for i := range values {
		values[i] = 1
	}
	return values
}

func allEqual(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return false
		}
	}
	return true
}
