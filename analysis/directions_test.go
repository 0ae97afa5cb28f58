package analysis_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/modeltest"
)

// TestDirectionsOfAModel: a filter of what was found, applied to the activation, gives the entries
// and the kurtosis that are told, on the half of the tokens that it was not found on; every stream
// has it.
func TestDirectionsOfAModel(t *testing.T) {
	for _, name := range []string{"vector", "matrix"} {
		c := varied(t, zoo(t)[name], func(c *models.Config) { c.Seq = 64 })
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		rows := [][]int32{tokensFor(c, 64, 1), tokensFor(c, 64, 2)}
		d, err := analysis.FindDirections(t.Context(), store, c, rows, analysis.DirectionsOptions{Count: 4})
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
		all, one := toldByTokens(entries, rows[1])
		assert.InDelta(t, all, d.Found[0].Token.All, 1e-6, name)
		assert.InDelta(t, one, d.Found[0].Token.One, 1e-6, name)
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

// TestMedianOfDirections: the median of an even number of directions lies between the two in the
// middle.
func TestMedianOfDirections(t *testing.T) {
	even := []float64{9, 3, 5, 4}
	d := analysis.Directions{Found: []analysis.Direction{{Kurtosis: 7}}, Random: even, Principal: even, Own: even[:3]}
	for i, want := range []string{"7", "4.5", "4.5", "5"} {
		assert.Equal(t, want, d.Table().Rows[i][3])
	}
}

// toldByTokens is what a regression on all tokens' indicators tells of the entries' variance, and
// the largest squared correlation with one of these.
func toldByTokens(entries []float64, ids []int32) (all, one float64) {
	fit := make([]float64, len(entries))
	for i, id := range ids {
		indicator, same := make([]float64, len(ids)), 0.0
		for j := range ids {
			if ids[j] == id {
				indicator[j] = 1
				same++
			}
		}
		fit[i] = floats.Dot(indicator, entries) / same
		one = max(one, math.Pow(stat.Correlation(indicator, entries, nil), 2))
	}
	return stat.Variance(fit, nil) / stat.Variance(entries, nil), one
}

// TestEmbeddingIsToldByTheToken: the token alone explains a direction of the embedding, more than
// by chance.
func TestEmbeddingIsToldByTheToken(t *testing.T) {
	c := varied(t, zoo(t)["matrix"], func(c *models.Config) { c.Seq = 64 })
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	rows := [][]int32{tokensFor(c, 64, 1), tokensFor(c, 64, 2)}
	d, err := analysis.FindDirections(t.Context(), store, c, rows, analysis.DirectionsOptions{Count: 4, Name: "embedding.tokens"})
	require.NoError(t, err)
	for _, share := range []analysis.TokenShare{d.Found[0].Token, d.RandomShare, d.PrincipalShare, d.OwnShare} {
		assert.InDelta(t, 1, share.All, 1e-9)
		assert.Less(t, share.One, 1.0)
	}
	different := map[int32]bool{}
	for _, id := range rows[1] {
		different[id] = true
	}
	assert.InDelta(t, float64(len(different)-1)/63, d.ShareByChance, 1e-12)
}
