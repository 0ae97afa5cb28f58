package kernel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// naiveSigmoid computes the textbook form.
func naiveSigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func TestSigmoid(t *testing.T) {
	testSigmoid[float32](t, 6e-8)
	testSigmoid[float64](t, 1e-15)
}

// testSigmoid compares with the textbook form, forward and backward, in place and elsewhere.
func testSigmoid[T Float](t *testing.T, tolerance float64) {
	x := geluInputs[T]()
	dy := normals[T](5, len(x), 1)
	want, wantSlope := make([]float64, len(x)), make([]float64, len(x))
	y, dx := make([]T, len(x)), make([]T, len(x))
	var k Elementwise[T]
	k.Run(NewPool(2), Sigmoid[T], [][]T{y}, [][]T{x})
	k.Run(NewPool(3), SigmoidGradient[T], [][]T{dx}, [][]T{dy, y})
	for i, v := range x {
		want[i] = naiveSigmoid(float64(v))
		s := float64(y[i])
		wantSlope[i] = float64(dy[i]) * s * (1 - s)
	}
	requireNear(t, want, y, tolerance, "forward")
	requireNear(t, wantSlope, dx, tolerance, "backward")
	inPlace := slices.Clone(x)
	k.Run(nil, Sigmoid[T], [][]T{inPlace}, [][]T{inPlace})
	require.Equal(t, y, inPlace)
	k.Run(nil, SigmoidGradient[T], [][]T{inPlace}, [][]T{dy, inPlace})
	require.Equal(t, dx, inPlace)
}

// TestSigmoidSlope compares the derivative with differences of the textbook form.
func TestSigmoidSlope(t *testing.T) {
	x := normals[float64](1, 500, 3)
	up, down := make([]float64, len(x)), make([]float64, len(x))
	y, dx, dy := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	const h = 1e-5
	for i, v := range x {
		up[i], down[i], dy[i] = naiveSigmoid(v+h), naiveSigmoid(v-h), float64(i%7)-3
	}
	var k Elementwise[float64]
	k.Run(nil, Sigmoid[float64], [][]float64{y}, [][]float64{x})
	k.Run(nil, SigmoidGradient[float64], [][]float64{dx}, [][]float64{dy, y})
	for i := range x {
		require.InDelta(t, dy[i]*(up[i]-down[i])/(2*h), dx[i], 1e-9)
	}
}

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
		gated(p, y, nil, x, value)
		gatedGradient(p, dgate, dvalue, dy, x, value, nil)
		for i, v := range x {
			s, rest := naiveSigmoid(float64(v)), naiveSigmoid(-float64(v))
			requireSame(t, v, 3*s, y[i], 0.51, 3e-45)
			requireSame(t, v, -0.5*s, dvalue[i], 0.51, 3e-45)
			requireSame(t, v, -1.5*s*rest, dgate[i], 0.51, 3e-45)
		}
		gatedSingle(p, y, nil, x, value)
		gatedGradientSingle(p, dgate, dvalue, dy, x, value)
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
	gated(pathOf[T](0), y, nil, x, value)
	gatedGradient(pathOf[T](0), dgate, dvalue, dy, x, value, nil)
	for i, want := range []float64{1, 0, 1, 0, 0.5} {
		require.InDelta(t, 2*want, float64(y[i]), 1e-44)
		require.InDelta(t, 3*want, float64(dvalue[i]), 1e-44)
		require.InDelta(t, 6*want*(1-want), float64(dgate[i]), 1e-44)
	}
	for _, v := range []T{y[5], dvalue[5], dgate[5]} {
		require.True(t, math.IsNaN(float64(v)))
	}
}

func TestSigmoidThreadsAndAllocations(t *testing.T) {
	x := geluInputs[float32]()
	dy := normals[float32](8, len(x), 1)
	var wantY, wantDx []float32
	for threads := 1; threads <= 3; threads++ {
		y, dx := make([]float32, len(x)), make([]float32, len(x))
		p := NewPool(threads)
		var k Elementwise[float32]
		requireNoAllocations(t, func() {
			k.Run(p, Sigmoid[float32], [][]float32{y}, [][]float32{x})
			k.Run(p, SigmoidGradient[float32], [][]float32{dx}, [][]float32{dy, y})
		})
		if threads == 1 {
			wantY, wantDx = y, dx
		}
		require.Equal(t, wantY, y)
		require.Equal(t, wantDx, dx)
		p.Close()
	}
}
