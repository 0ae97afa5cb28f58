package memory_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis/memory"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/check"
)

// checkResult wants a result's table and figures to be in order.
func checkResult(t *testing.T, m *memory.Associative) {
	t.Helper()
	require.NoError(t, figure.Check(m.Table()))
	require.NotEmpty(t, m.Figures())
	for _, f := range m.Figures() {
		require.NoError(t, figure.Check(f), f.Heading())
	}
}

// TestAssociativeMemory: what is read is off by what theory says, within 4 standard errors.
func TestAssociativeMemory(t *testing.T) {
	m, err := memory.Try(t.Context(), memory.Options{Dk: 24, Dv: 10, Seeds: 40, Pairs: []int{1, 2, 6, 24, 25, 30, 48, 70}, Seed: 3})
	require.NoError(t, err)
	require.Len(t, m.Curves, 3)
	for _, c := range m.Curves {
		for _, p := range c.Points {
			assert.InDelta(t, p.Theory, p.Error, 4*p.StandardError+1e-20, "%s, %d pairs", c.Keys, p.Pairs)
			assert.GreaterOrEqual(t, p.Max, p.Welch-1e-12)
			assert.InDelta(t, float64(p.Pairs)/24, p.Load, 1e-12)
			if c.Keys != memory.KeysLeastSquares {
				assert.GreaterOrEqual(t, p.Theory, p.Least-1e-12)
				assert.GreaterOrEqual(t, float64(p.Pairs-1)*p.MeanSquared, p.Least-1e-12, "no keys do better")
			}
		}
	}
	random, orthonormal, squares := m.Curves[0].Points, m.Curves[1].Points, m.Curves[2].Points
	assert.InDelta(t, 23./24, random[3].Theory, 1e-12)
	assert.Less(t, orthonormal[3].Error, 1e-20, "Dk orthogonal pairs are held without loss")
	assert.InDelta(t, 2./25, orthonormal[4].Theory, 1e-12, "one pair too many")
	assert.InDelta(t, orthonormal[6].Least, orthonormal[6].Theory, 1e-12, "whole bases reach the bound")
	assert.Less(t, squares[2].Error, 1e-20)
	assert.InDelta(t, 0.5, squares[6].Error, 4*squares[6].StandardError)
	for _, p := range m.Shared {
		assert.InDelta(t, p.Theory, p.Error, 4*p.StandardError+1e-20, "cosine %g", p.Cosine)
		assert.InDelta(t, p.Cosine, p.Max, 1e-9)
		assert.InDelta(t, p.Cosine*p.Cosine, p.MeanSquared, 1e-9)
	}
	checkResult(t, m)
}

// TestAssociativeMemoryIsSeeded: the same seed makes the same memories, another one makes others.
func TestAssociativeMemoryIsSeeded(t *testing.T) {
	try := func(seed uint64) float64 {
		m, err := memory.Try(t.Context(), memory.Options{Dk: 8, Dv: 4, Seeds: 3, Pairs: []int{9}, Seed: seed})
		require.NoError(t, err)
		return m.Curves[0].Points[0].Error
	}
	assert.Equal(t, try(1), try(1))
	assert.NotEqual(t, try(1), try(2))
}

// TestMemoryDefaults: options that are zero get defaults, bad ones are refused.
func TestMemoryDefaults(t *testing.T) {
	m, err := memory.Try(t.Context(), memory.Options{Dk: 2, Seeds: 2})
	require.NoError(t, err)
	assert.Equal(t, 64, m.Dv)
	checkResult(t, m)
	for name, o := range map[string]memory.Options{"dk": {Dk: 1}, "dv": {Dv: -1}, "seeds": {Seeds: 1}} {
		_, err := memory.Try(t.Context(), o)
		assert.ErrorIs(t, err, check.ValueError{Name: name})
	}
	_, err = memory.Try(t.Context(), memory.Options{Pairs: []int{3, 0}})
	assert.ErrorIs(t, err, check.ValueError{Name: "pairs", Got: "0"})
}

// TestWelchBound: for d+1 vectors the regular simplex, whose cosines are -1/d, reaches the bound.
func TestWelchBound(t *testing.T) {
	for d := 1; d < 9; d++ {
		assert.InDelta(t, 1/float64(d), memory.WelchBound(d+1, d), 1e-12)
		assert.Zero(t, memory.WelchBound(d, d))
	}
	assert.InDelta(t, 1/math.Sqrt(3), math.Sqrt(3)*memory.WelchBound(1_000_000, 9), 1e-5, "1/sqrt(d) for many")
}
