package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Compares with exp of the same float32, over the range in which the result is a normal number.
func TestAttentionExpIsWithinItsUlps(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		rng := rand.New(rand.NewPCG(1, 2))
		var row []float32
		for x := -87.3; x < 88; x += 1.0 / 1024 {
			row = append(row, float32(x+rng.Float64()/1024))
		}
		got := append([]float32(nil), row...)
		attentionExp(p, got, 0)
		for i, x := range row {
			requireSame(t, x, math.Exp(float64(x)), got[i], 1.15, 0)
		}
	})
}

func TestAttentionExpOfSmallAndSpecialValues(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		inf := float32(math.Inf(1))
		row := []float32{float32(math.NaN()), -inf, 0, -3e38, float32(math.Copysign(0, -1)), -1e4, 90, inf}
		require.True(t, math.IsNaN(attentionExp(p, row, 0)))
		require.True(t, math.IsNaN(float64(row[0])))
		require.Equal(t, []float32{0, 1, 0, 1, 0, inf, inf}, row[1:])
		for x := -104.0; x < -87; x += 1.0 / 64 { // the result is subnormal, or 0 instead
			row := []float32{float32(x)}
			attentionExp(p, row, 0)
			require.GreaterOrEqual(t, row[0], float32(0), "%v", x)
			require.InDelta(t, math.Exp(x), float64(row[0]), 1e-38, "%v", x)
		}
	})
}

// The returned sum equals the sum of the results, for rows of any length.
func TestAttentionExpSums(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		for _, n := range []int{0, 1, 7, 16, 33, attentionKeys} {
			row := normals[float32](3, n, 2)
			got := attentionExp(p, row, 5)
			var want float64
			for _, v := range row {
				want += float64(v)
			}
			require.InDelta(t, want, got, 1e-6*want, "%d elements", n)
		}
	})
}

// For rows of any size and start, softmaxGradient in float32 is near to its result in float64.
func TestSoftmaxGradientEqualsDouble(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		for _, n := range []int{1, 15, 16, 17, 100, attentionKeys} {
			x, dp := normals[float64](1, n, 2), normals[float64](2, n, 1)
			x32, dp32 := castTo[float32](x), castTo[float32](dp)
			x, dp = widen(x32), widen(dp32)
			softmaxGradient(portable, x, dp, 0.25, n+3, 4, 0.5)
			softmaxGradient(p, x32, dp32, 0.25, n+3, 4, 0.5)
			require.Less(t, worstError(x32, x), 1e-6, "P of %d keys", n)
			require.Less(t, worstError(dp32, dp), 1e-6, "dS of %d keys", n)
		}
	})
}
