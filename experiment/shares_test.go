package experiment

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProgressOfAnExperiment: the share of the work grows from step to step to 1.
func TestProgressOfAnExperiment(t *testing.T) {
	p := settled(t, parsed(t, strings.Replace(twoRates, "seeds: 2", "seeds: 1", 1)), t.TempDir())
	var shares []float64
	require.NoError(t, p.Train(t.Context(), Options{Jobs: 2, Progress: func(share float64) { shares = append(shares, share) }}))
	assert.Greater(t, len(shares), 4*4, "each of 4 steps of each of 4 runs")
	assert.True(t, slices.IsSorted(shares), "%v", shares)
	assert.Less(t, shares[0], 0.01)
	assert.InDelta(t, 1, shares[len(shares)-1], 1e-12)
	middle := slices.Index(shares, slices.MinFunc(shares, func(a, b float64) int { return int(1e6 * (abs(a-0.5) - abs(b-0.5))) }))
	assert.InDelta(t, len(shares)/2, middle, 6, "%v", shares)
}

func abs(x float64) float64 { return max(x, -x) }
