package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// vectorLengths are lengths with and without whole vectors, groups of them and rests.
var vectorLengths = []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 23, 31, 32, 33, 47, 61, 63, 64, 65, 97, 127, 128, 129, 257}

// everyFloat returns 2^bits float32 values of every exponent, both signs, with NaN,
// infinities, zeros and subnormal numbers.
func everyFloat(bits int) []float32 {
	inf := float32(math.Inf(1))
	x := []float32{0, float32(math.Copysign(0, -1)), inf, -inf, float32(math.NaN()), math.SmallestNonzeroFloat32, math.MaxFloat32, -math.MaxFloat32}
	sweep(bits, func(v float32) { x = append(x, v) })
	return x
}

// sweepBits is the number of values of a sweep, as a power of two.
func sweepBits() int {
	if testing.Short() {
		return 14
	}
	return 20
}

// requireSame wants the same kind of value (NaN, infinity) where want is none of the
// finite float32 values, and within the given units in the last place and absolute
// error elsewhere.
func requireSame(t *testing.T, x float32, want float64, got float32, units, absolute float64) {
	t.Helper()
	rounded := float32(want)
	if math.IsNaN(want) || math.IsInf(float64(rounded), 0) {
		if !(got == rounded || math.IsNaN(want) && got != got) {
			require.Failf(t, "not the same", "at %v: want %v, got %v", x, rounded, got)
		}
		return
	}
	if e := math.Abs(float64(got) - want); !(e <= absolute || ulps(got, want) <= units) {
		require.Failf(t, "not close", "at %v: want %v, got %v, %.3f units", x, want, got, ulps(got, want))
	}
}

// forEachFastPath runs f on the paths that are not portable.
func forEachFastPath(t *testing.T, f func(t *testing.T, p path)) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		if p > portable {
			f(t, p)
		}
	})
}

func TestVectorGelu(t *testing.T) {
	x := slices.Concat(everyFloat(sweepBits()), geluInputs[float32]())
	want, one := make([]float64, len(x)), make([]float64, len(x))
	for i := range one {
		one[i] = 1
	}
	forEachPath[float32](t, func(t *testing.T, p path) {
		y := make([]float32, len(x))
		geluTanh(portable, want, widen(x))
		geluTanh(p, y, x)
		for i, v := range x {
			requireSame(t, v, want[i], y[i], 0.6, 0)
		}
		geluTanhGradient(portable, want, one, widen(x))
		geluTanhGradient(p, y, castTo[float32](one), x)
		for i, v := range x {
			requireSame(t, v, want[i], y[i], 0.6, 0x1p-27)
		}
	})
}

var _ = fmt.Sprint
