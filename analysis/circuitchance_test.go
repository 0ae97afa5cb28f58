package analysis_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/pretrained"
)

// TestScoresOfARandomModel: a model that was never trained has scores as far from 0 as its chance
// says, over all heads, and p-values as often small as large, in a stream of vectors, of rows and
// of a matrix.
func TestScoresOfARandomModel(t *testing.T) {
	t.Parallel()
	for _, name := range checked(t, "random", "vector", "matrix") {
		c := varied(t, zoo(t)[name], func(c *models.Config) { c.Layers = 24 })
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		circuits, err := analysis.FindCircuits(t.Context(), store, c, analysis.CircuitOptions{Draws: 60, Seed: 1})
		require.NoError(t, err)
		for what, of := range map[string]func(analysis.HeadCircuits) *analysis.CircuitSpectrum{
			"copying":  func(h analysis.HeadCircuits) *analysis.CircuitSpectrum { return h.FullOV },
			"matching": func(h analysis.HeadCircuits) *analysis.CircuitSpectrum { return h.FullQK },
		} {
			square, p := 0.0, 0.0
			for _, h := range circuits.Heads {
				s := of(h)
				square += math.Pow(s.Score/s.Chance.Deviation, 2) / float64(len(circuits.Heads))
				p += s.Chance.P / float64(len(circuits.Heads))
			}
			assert.InDelta(t, 1, math.Sqrt(square), 0.25, "%s %s", name, what)
			assert.InDelta(t, 0.5, p, 0.12, "%s %s", name, what)
		}
	}
}

// TestCopyingOfTheCommittedModel: the heads that copy most are beyond chance, most heads are not;
// the table tells both.
func TestCopyingOfTheCommittedModel(t *testing.T) {
	longtest.Skip(t)
	m, err := pretrained.Open("zoo:quickstart")
	require.NoError(t, err)
	circuits, err := analysis.FindCircuits(t.Context(), m.Store, m.Spec, analysis.CircuitOptions{Draws: 200, Seed: 1})
	require.NoError(t, err)
	within := 0
	for _, h := range circuits.Heads {
		require.NotNil(t, h.FullOV.Chance)
		assert.Zero(t, h.FullOV.Chance.Mean)
		if h.FullOV.Chance.P > 0.05 {
			within++
		}
	}
	assert.Greater(t, within, 16)
	for _, place := range [][2]int{{2, 5}, {2, 7}, {1, 5}, {2, 6}} {
		h, err := circuits.Head(place[0], place[1])
		require.NoError(t, err)
		assert.Less(t, h.FullOV.Chance.P, 0.02, h.Name())
		assert.Greater(t, h.FullOV.Score, h.FullOV.Chance.Deviation, h.Name())
	}
	table := circuits.Table()
	assert.Regexp(t, `^0 ± 0\.\d+$`, table.Rows[0][4])
	without, err := analysis.FindCircuits(t.Context(), m.Store, m.Spec, analysis.CircuitOptions{})
	require.NoError(t, err)
	assert.Nil(t, without.Heads[0].FullOV.Chance)
	assert.Equal(t, "", without.Table().Rows[0][4])
}
