package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// everyFloat returns about 2^bits float32 values of every exponent, both signs, with NaN,
// infinities, zeros and subnormal numbers.
func everyFloat(bits int) []float32 {
	inf := float32(math.Inf(1))
	x := []float32{0, float32(math.Copysign(0, -1)), inf, -inf, float32(math.NaN()), math.SmallestNonzeroFloat32, math.MaxFloat32, -math.MaxFloat32}
	sweep(bits, func(v float32) { x = append(x, v) })
	return x
}

// sweepBits returns the number of values of a sweep, as a power of two.
func sweepBits() int {
	switch {
	case testing.Short():
		return 14
	case longtest.Enabled():
		return 20
	}
	return 17
}

// requireSame checks that got is the same NaN or infinity, or differs from want by at most the
// given units in the last place of want plus the absolute error.
func requireSame(t *testing.T, x float32, want float64, got float32, units, absolute float64) {
	t.Helper()
	rounded := float32(want)
	if math.IsNaN(want) || math.IsInf(float64(rounded), 0) {
		if !(got == rounded || math.IsNaN(want) && got != got) {
			require.Failf(t, "not the same", "at %v: want %v, got %v", x, rounded, got)
		}
		return
	}
	unit := math.Ldexp(1, max(math.Ilogb(want), -126)-23)
	if e := math.Abs(float64(got) - want); !(e <= units*unit+absolute) {
		require.Failf(t, "not close", "at %v: want %v, got %v, %.3f units", x, want, got, ulps(got, want))
	}
}

func TestVectorGeluOfEveryMagnitude(t *testing.T) {
	x := slices.Concat(everyFloat(sweepBits()), geluInputs[float32]())
	want, wantSlope, one := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	for i := range one {
		one[i] = 1
	}
	geluTanh(portable, want, widen(x))
	geluTanhGradient(portable, wantSlope, one, widen(x))
	wantExact, wantExactSlope := make([]float64, len(x)), make([]float64, len(x))
	geluExact(portable, wantExact, widen(x))
	geluExactGradient(portable, wantExactSlope, one, widen(x))
	forEachPath[float32](t, func(t *testing.T, p path) {
		y := make([]float32, len(x))
		geluExact(p, y, x)
		for i, v := range x {
			requireSame(t, v, wantExact[i], y[i], 0.6, 0)
		}
		geluExactGradient(p, y, castTo[float32](one), x)
		for i, v := range x {
			requireSame(t, v, wantExactSlope[i], y[i], 0.51, 0x1p-29)
		}
		geluTanh(p, y, x)
		for i, v := range x {
			requireSame(t, v, want[i], y[i], 0.51, 0)
		}
		geluTanhGradient(p, y, castTo[float32](one), x)
		for i, v := range x {
			requireSame(t, v, wantSlope[i], y[i], 0.51, 0x1p-30)
		}
	})
}

func TestVectorExpOfEveryMagnitude(t *testing.T) {
	x := everyFloat(sweepBits())
	forEachFastPath(t, func(t *testing.T, p path) {
		for _, shift := range []float32{0, 3.5, -60} {
			y := slices.Clone(x)
			softmaxExp(p, y, shift)
			for i, v := range x {
				requireSame(t, v, math.Exp(float64(v)-float64(shift)), y[i], 0.51, 0)
			}
		}
	})
}

// TestVectorArithmeticOfEveryMagnitude pairs every float with every other kind.
func TestVectorArithmeticOfEveryMagnitude(t *testing.T) {
	x := everyFloat(sweepBits() - 2)
	y, z := slices.Clone(x), slices.Clone(x)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(y), func(i, j int) { y[i], y[j] = y[j], y[i] })
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(z), func(i, j int) { z[i], z[j] = z[j], z[i] })
	x64, y64, z64, want := widen(x), widen(y), widen(z), make([]float64, len(x))
	forEachFastPath(t, func(t *testing.T, p path) {
		compare := func(got []float32) {
			t.Helper()
			for i, v := range x {
				requireSame(t, v, want[i], got[i], 0.5000001, 0)
			}
		}
		got := make([]float32, len(x))
		setSum(p, got, x, y)
		setSum(portable, want, x64, y64)
		compare(got)
		scaleTo(p, got, x, -0.3)
		scaleTo(portable, want, x64, float64(float32(-0.3)))
		compare(got)
		copy(got, z)
		copy(want, z64)
		addProducts(p, got, x, y)
		addProducts(portable, want, x64, y64)
		compare(got)
		copy(got, z)
		copy(want, z64)
		addTo(p, got, x)
		addTo(portable, want, x64)
		compare(got)
	})
}
