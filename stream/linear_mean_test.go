package stream_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/stream/linear"
)

// chains are compositions that streams make: tables through W_expand and slots; rows mixed at each
// site; norms of what rows add up to; keys; gates, which are no mixture of rows.
func chains() map[string]linear.Chain {
	r := rand.New(rand.NewPCG(7, 8))
	s := mapSamples()
	mix := func(in, out, width int) linear.Mix {
		c := draws(r, mapTokens*in*out)
		return linear.Mix{In: in, Out: out, Width: width, At: func(t, i, j int) float64 { return c[(t*out+i)*in+j] }}
	}
	norm := s["layernorm"].m
	return map[string]linear.Chain{
		"nothing":     {},
		"identity":    {linear.Identity(5)},
		"plain":       {linear.Rows(4, []float64{1}, []float64{1}), linear.Rows(4, []float64{0.5, 0.5})},
		"one row":     {mix(1, 3, 4), mix(3, 3, 4), mix(3, 1, 4)},
		"slots":       {mix(2, 3, 4), linear.Transposed{Of: mix(2, 3, 4)}},
		"expanded":    {linear.Matrix{W: draws(r, 3*8), In: 3, Out: 8}, mix(4, 4, 2), linear.Identity(8), mix(4, 2, 2)},
		"aggregates":  {mix(1, 2, 4), mix(2, 1, 4), norm, mix(1, 3, 4), mix(3, 1, 4), norm},
		"norm last":   {mix(1, 1, 4), norm},
		"keys":        {linear.Keys(draws(r, 6), 3, 2), mix(3, 3, 2), linear.Transposed{Of: linear.Keys(draws(r, 9), 3, 2)}},
		"nested":      {linear.Chain{mix(1, 2, 4), linear.Identity(8)}, linear.Chain{mix(2, 1, 4), norm}},
		"gates":       {s["scale"].m, norm},
		"norm inside": {mix(2, 1, 4), norm},
		"groups":      {s["groups"].m},
		"stack":       {linear.Stack{norm, norm}, mix(2, 1, 4)},
		"pieces":      {linear.Stack{linear.Identity(4), linear.Identity(4)}, linear.Stack{linear.Identity(8), mix(2, 1, 4)}, mix(3, 1, 4)},
		"unlike":      {linear.Stack{mix(2, 1, 4), mix(4, 1, 2)}},
		"norm first":  {mix(1, 1, 4), norm, mix(2, 3, 2)},
		"two widths":  {mix(1, 2, 4), mix(4, 1, 2)},
		"W^T":         {linear.Transposed{Of: linear.Matrix{W: draws(r, 12), In: 3, Out: 4}}},
	}
}

// TestChainMean: it is the mean of what a chain makes of unit vectors, token by token, and the same
// forwards and backwards.
func TestChainMean(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for name, chain := range chains() {
		mean := chain.Mean(mapTokens)
		in, out := chain.Sizes()
		if len(chain) == 0 {
			in, out = 5, 5
		}
		want := mat.NewDense(in, out, nil)
		for i := range in {
			unit := make([]float64, in)
			unit[i] = 1
			for token := range mapTokens {
				for j, v := range chain.Apply(token, unit) {
					want.Set(i, j, want.At(i, j)+v/mapTokens)
				}
			}
		}
		x, y := mat.NewDense(3, in, draws(r, 3*in)), mat.NewDense(2, out, draws(r, 2*out))
		var rows, back mat.Dense
		rows.Mul(x, want)
		back.Mul(y, want.T())
		require.True(t, mat.EqualApprox(&rows, mean.Rows(x), 1e-12), name)
		require.True(t, mat.EqualApprox(&back, mean.Back(y), 1e-12), name)
		assert.InDelta(t, mat.Norm(want, 2)/math.Sqrt(float64(out)), mean.Gain(in), 1e-12, name)
		assert.Equal(t, name == "slots" || name == "norm first" || name == "expanded" || name == "keys", mean.Mixture(), name)
	}
}

// TestChainMeanIsANumber: what mixes one row with itself is a number, what it multiplies, and
// nothing else is.
func TestChainMeanIsANumber(t *testing.T) {
	numbers := map[string]bool{"nothing": true, "identity": true, "plain": true, "one row": true, "pieces": true}
	for name, chain := range chains() {
		a, is := chain.Mean(mapTokens).Number()
		assert.Equal(t, numbers[name], is, name)
		if !is {
			assert.Equal(t, 1.0, a, name)
			continue
		}
		in, _ := chain.Sizes()
		x, sum := make([]float64, max(1, in)), 0.0
		x[0] = 1
		for token := range mapTokens {
			sum += chain.Apply(token, x)[0] / mapTokens
		}
		assert.InDelta(t, sum, a, 1e-12, name)
	}
}
