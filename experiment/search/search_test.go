package search

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRates(t *testing.T) {
	var rates []float64
	for k := -5; k <= 6; k++ {
		rates = append(rates, Rate(k))
	}
	assert.Equal(t, []float64{0.000056, 0.0001, 0.00018, 0.00032, 0.00056, 0.001, 0.0018, 0.0032, 0.0056, 0.01, 0.018, 0.032}, rates)
}

// bowl is a loss whose minimum is at a rate; above ten times that it diverges.
func bowl(minimum float64) Train {
	return func(_ context.Context, rate float64, seed uint64) (float64, bool, error) {
		x := math.Log(rate / minimum)
		if x > math.Log(10) {
			return math.NaN(), true, nil
		}
		return 3 + x*x + 0.01*float64(seed), true, nil
	}
}

// TestBestRateLiesInside: wherever the minimum is, the neighbours of the rate that is found were tried
// and are worse, and it has three seeds.
func TestBestRateLiesInside(t *testing.T) {
	for k := -7; k <= 7; k++ {
		r, err := BestRate(context.Background(), Options{}, bowl(Rate(k)))
		require.NoError(t, err)
		best, found := r.Best()
		assert.True(t, found && r.Inside && r.Done)
		assert.Equal(t, Rate(k), best)
		rates := 3 + k // 0.001, one below it, and those up to the one above the best
		if k < 0 {
			rates = 2 - k // those down to the one below the best
		}
		assert.Len(t, r.Trials, rates+2, "no rate is tried twice, and no more than needed: %v", r.Trials)
		assert.InDeltaSlice(t, []float64{3, 3.01, 3.02}, r.Scores(), 1e-12)
		m := r.Mean()
		assert.InDelta(t, 3.01, m.Mean, 1e-12)
		assert.InDelta(t, 0.01/math.Sqrt(3), m.Error, 1e-12)
	}
}

// TestTheEndOfTheLadder: a best rate at the end of what may be tried is not inside; where all diverge there is none.
func TestTheEndOfTheLadder(t *testing.T) {
	r, err := BestRate(context.Background(), Options{Most: 2}, bowl(Rate(-5)))
	require.NoError(t, err)
	best, _ := r.Best()
	assert.Equal(t, Rate(-2), best)
	assert.True(t, r.Done)
	assert.False(t, r.Inside)

	r, err = BestRate(context.Background(), Options{Most: 2}, bowl(1e-9))
	require.NoError(t, err)
	_, found := r.Best()
	assert.False(t, found || r.Done || r.Inside)
	assert.Len(t, r.Trials, 3, "the first and two below it")
	assert.Empty(t, r.Scores())
}

// TestNoTimeLeft: a search whose next run is not made keeps what it has, and is not done.
func TestNoTimeLeft(t *testing.T) {
	for runs := range 6 {
		left := runs
		r, err := BestRate(context.Background(), Options{Start: 1}, func(ctx context.Context, rate float64, seed uint64) (float64, bool, error) {
			if left--; left < 0 {
				return 0, false, nil
			}
			return bowl(Rate(2))(ctx, rate, seed)
		})
		require.NoError(t, err)
		assert.Len(t, r.Trials, runs)
		assert.False(t, r.Done)
		assert.Equal(t, runs >= 4, r.Inside)
	}
	broken := errors.New("broken")
	_, err := BestRate(context.Background(), Options{}, func(context.Context, float64, uint64) (float64, bool, error) { return 0, true, broken })
	assert.ErrorIs(t, err, broken)
}
