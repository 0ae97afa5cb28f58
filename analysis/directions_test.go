package analysis_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestDirectionsOfAModel: a filter of what was found, applied to the activation, gives the entries and the
// kurtosis that are told, on the half of the tokens that it was not found on; every stream has it.
func TestDirectionsOfAModel(t *testing.T) {
	for _, name := range []string{"vector", "matrix"} {
		c := varied(t, zoo(t)[name], func(c *models.Config) { c.Seq = 64 })
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		rows := [][]int32{tokensFor(c, 64, 1), tokensFor(c, 64, 2)}
		d, err := analysis.FindDirections(store, c, rows, analysis.DirectionsOptions{Count: 4})
		require.NoError(t, err)
		require.Len(t, d.Found, 4)
		assert.Equal(t, 64, d.Tokens)
		assert.Len(t, d.Own, d.Entries)
		r, err := cache.New(store, c, cache.Options{Names: []string{d.Activation}, Seq: 64})
		require.NoError(t, err)
		run, err := r.Run(rows[1])
		require.NoError(t, err)
		a, err := run.Get(d.Activation)
		require.NoError(t, err)
		var entries []float64
		for token := range 64 {
			entries = append(entries, floats.Dot(d.Found[0].Filter, a.Values[token*d.Entries:][:d.Entries]))
		}
		assert.InDelta(t, analysis.Kurtosis(entries), d.Found[0].Kurtosis, 1e-6, name)
		assert.Equal(t, 1, d.Found[0].Examples[0].Row)
		best := d.Found[0].Examples[0].Token
		assert.True(t, floats.MaxIdx(entries) == best || floats.MinIdx(entries) == best)
		assert.GreaterOrEqual(t, d.Found[0].Kurtosis, d.Found[3].Kurtosis)
		assert.Len(t, d.Table().Rows, 4)
		byChance, err := strconv.ParseFloat(d.Table().Rows[3][6], 64)
		require.NoError(t, err)
		assert.InEpsilon(t, float64(d.Entries)/float64(len(d.Random)+1), byChance, 1e-3, "own entries that beat all random directions though they are like them")
		assert.Len(t, d.Figures(), 1)
		r.Close()
	}
}
