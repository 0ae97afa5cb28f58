package theory

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestXavierGains(t *testing.T) {
	table, err := NewXavierGains(60, 1)
	require.NoError(t, err)
	require.Len(t, table.Gains, 16)
	differ := 0
	for _, g := range table.Gains {
		in, out := float64(g.Operation.FanIn()), float64(g.Operation.FanOut())
		want := 2 * in / (in + out)
		if g.Pass == passBackward {
			want = 2 * out / (in + out)
		}
		name := g.Layer + " " + g.Purpose + " " + g.Model + " " + g.Pass
		assert.InDelta(t, want, g.Exact, 1e-12, name)
		assert.InDelta(t, g.Exact, g.Simulated.Variance, most*g.Simulated.VarianceError, name)
		unit := math.Pow10(g.Digits)
		assert.Equal(t, g.Paper, math.Round(g.Read*unit)/unit, "%s: the reading gives the printed number", name)
		if math.Round(g.Exact*unit)/unit != g.Paper {
			differ++
			assert.Equal(t, "feed-forward", g.Layer)
			assert.Equal(t, modelRMT, g.Model)
		}
	}
	assert.Equal(t, 4, differ, "the RMT's feed-forward rows alone need another reading")
}

// Forward and backward gains of an operation add up to 2.
func TestXavierVariance(t *testing.T) {
	for _, o := range operations() {
		forward := o.closedForm(passForward, xavierSetting(o))
		backward := o.closedForm(passBackward, xavierSetting(o))
		assert.InDelta(t, 2, forward.Variance+backward.Variance, 1e-12)
	}
}
