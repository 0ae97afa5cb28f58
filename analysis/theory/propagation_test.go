package theory

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPropagation(t *testing.T) {
	s := PropagationSetting()
	table, err := NewPropagation(s, 60, 1)
	require.NoError(t, err)
	require.Len(t, table.Comparisons, 12)
	x, g := s.Input.Square(), s.Gradient.Square()
	mean := s.Input.Mean * s.Gradient.Mean
	want := []float64{ // Dk 64, Dv 64, R 16, D 1024
		64 * 0.02 * x, 48 * 0.02 * g, 64 * (x*g - mean*mean),
		1024 * 0.02 * x, 3072 * 0.02 * g, x*g - mean*mean,
		16 * 0.02 * x, 64 * 0.02 * g, 64 * (x*g - mean*mean),
		1024 * 0.02 * x, 1024 * 0.02 * g, x*g - mean*mean,
	}
	for i, c := range table.Comparisons {
		assert.InDelta(t, want[i], c.Closed.Variance, 1e-9, "%s %s %s", c.Model, c.Purpose, c.Pass)
		m, v := c.Deviations()
		assert.LessOrEqual(t, max(m, -m), float64(most), "%s %s %s: mean", c.Model, c.Purpose, c.Pass)
		assert.LessOrEqual(t, max(v, -v), float64(most), "%s %s %s: variance", c.Model, c.Purpose, c.Pass)
	}
	assert.Equal(t, "3R var(w) (var(g) + mean(g)^2)", table.Comparisons[1].Formula)
	assert.Equal(t, "Dv ((var(g) + mean(g)^2) (var(x) + mean(x)^2) - (mean(g) mean(x))^2)", table.Comparisons[2].Formula)
}
