package modeltest

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
)

// Distance returns max |got - want| / max |want|, or +Inf if there is a NaN or the lengths differ.
func Distance(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	difference, scale := 0.0, 0.0
	for i := range want {
		d := math.Abs(got[i] - want[i])
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		difference, scale = max(difference, d), max(scale, math.Abs(want[i]))
	}
	if difference == 0 {
		return 0
	}
	return difference / scale
}

// requireSame requires that two sets of tensors are equal to the last bit.
func requireSame(t *testing.T, want, got map[string][]float64, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for name := range want {
		require.True(t, slices.Equal(want[name], got[name]), "%s: %q differs by %.2e", what, name, Distance(got[name], want[name]))
	}
}

// requireClose requires that two sets of tensors agree within tolerance times each tensor's largest
// entry, or times floor if that is larger.
func requireClose(t *testing.T, want, got map[string][]float64, tolerance, floor float64, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for name := range want {
		require.Len(t, got[name], len(want[name]), "%s: %q", what, name)
		scale := max(largest(want[name]), floor)
		for i, w := range want[name] {
			require.InDelta(t, w, got[name][i], tolerance*scale, "%s: %q, entry %d", what, name, i)
		}
	}
}

func largest(xs []float64) float64 { return floats.Norm(xs, math.Inf(1)) }

// largestOf returns the largest entry of all tensors.
func largestOf(all map[string][]float64) float64 {
	most := 0.0
	for _, xs := range all {
		most = max(most, largest(xs))
	}
	return most
}
