package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// naiveSigmoid computes the textbook form.
func naiveSigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// TestSigmoidOfEveryMagnitude checks that every path is right to the last place of float32.
func TestSigmoidOfEveryMagnitude(t *testing.T) {
	x := everyFloat(sweepBits())
	value, dy := make([]float32, len(x)), make([]float32, len(x))
	for i := range x {
		value[i], dy[i] = 3, -0.5
	}
	forEachPath[float32](t, func(t *testing.T, p path) {
		y, dgate, dvalue := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
		sigmoid(p, y, x)
		for i, v := range x {
			requireSame(t, v, naiveSigmoid(float64(v)), y[i], 0.51, 0)
		}
		gatedAlone(p, y, x, value)
		gatedGradientAlone(p, dvalue, dgate, dy, x, value)
		for i, v := range x {
			s, rest := naiveSigmoid(float64(v)), naiveSigmoid(-float64(v))
			requireSame(t, v, 3*s, y[i], 0.51, 3e-45)
			requireSame(t, v, -0.5*s, dvalue[i], 0.51, 3e-45)
			requireSame(t, v, -1.5*s*rest, dgate[i], 0.51, 3e-45)
		}
		gatedQuickAlone(p, y, x, value)
		gatedQuickGradient(p, dgate, dvalue, dy, x, value)
		for i, v := range x {
			s, rest := naiveSigmoid(float64(v)), naiveSigmoid(-float64(v))
			requireSame(t, v, 3*s, y[i], 3, 1e-37)
			requireSame(t, v, -0.5*s, dvalue[i], 3, 1e-37)
			requireSame(t, v, -1.5*s*rest, dgate[i], 5, 1e-37)
		}
	})
}

// TestSigmoidAtTheEnds: there is no NaN where exp overflows, and a NaN in the input is not lost.
func TestSigmoidAtTheEnds(t *testing.T) {
	testSigmoidAtTheEnds[float32](t)
	testSigmoidAtTheEnds[float64](t)
}

func testSigmoidAtTheEnds[T Float](t *testing.T) {
	inf := math.Inf(1)
	x := []T{T(inf), T(-inf), 1e30, -1e30, 0, T(math.NaN())}
	value, dy := []T{2, 2, 2, 2, 2, 2}, []T{3, 3, 3, 3, 3, 3}
	y, dgate, dvalue := make([]T, 6), make([]T, 6), make([]T, 6)
	gatedAlone(pathOf[T](0), y, x, value)
	gatedGradientAlone(pathOf[T](0), dvalue, dgate, dy, x, value)
	for i, want := range []float64{1, 0, 1, 0, 0.5} {
		require.InDelta(t, 2*want, float64(y[i]), 1e-44)
		require.InDelta(t, 3*want, float64(dvalue[i]), 1e-44)
		require.InDelta(t, 6*want*(1-want), float64(dgate[i]), 1e-44)
	}
	for _, v := range []T{y[5], dvalue[5], dgate[5]} {
		require.True(t, math.IsNaN(float64(v)))
	}
}
