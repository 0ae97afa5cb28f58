package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// naiveGelu computes the textbook form.
func naiveGelu(x float64, exact bool) float64 {
	if exact {
		return 0.5 * x * (1 + math.Erf(x/math.Sqrt2))
	}
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

// geluInputs returns normal variates, small and large numbers, and a grid.
func geluInputs[T Float]() []T {
	x := append(normals[T](1, 3000, 2), normals[T](2, 1000, 1e-3)...)
	x = append(x, normals[T](3, 1000, 30)...)
	for v := -20.0; v <= 20; v += 1.0 / 64 {
		x = append(x, T(v))
	}
	return x
}

func TestGeluForward(t *testing.T) {
	for _, exact := range []bool{false, true} {
		testGeluForward[float32](t, exact, 3e-7)
		testGeluForward[float64](t, exact, 1e-14)
	}
}

func testGeluForward[T Float](t *testing.T, exact bool, tolerance float64) {
	x := geluInputs[T]()
	want := make([]float64, len(x))
	for i, v := range x {
		want[i] = naiveGelu(float64(v), exact)
	}
	var k Elementwise[T]
	y := make([]T, len(x))
	k.Run(NewPool(2), Activate[T], [][]T{y}, [][]T{x}, float64(Gelu(exact)))
	requireNear(t, want, y, tolerance, fmt.Sprintf("exact=%v", exact))
	inPlace := slices.Clone(x)
	k.Run(nil, Activate[T], [][]T{inPlace}, [][]T{inPlace}, float64(Gelu(exact)))
	require.Equal(t, y, inPlace)
}

// Small results keep their relative precision: gelu(-5) is about -1e-6.
func TestGeluTails(t *testing.T) {
	x := []float32{-8, -6, -5, -4, -3, -1e-3, -1e-20, 1e-20, 1e-3}
	y := make([]float32, len(x))
	var k Elementwise[float32]
	k.Run(nil, Activate[float32], [][]float32{y}, [][]float32{x}, float64(GeluExact))
	for i, v := range x {
		want := float64(v) / 2 * math.Erfc(-float64(v)/math.Sqrt2)
		require.InEpsilon(t, want, y[i], 1e-7, "exact gelu(%v)", v)
	}
	k.Run(nil, Activate[float32], [][]float32{y}, [][]float32{x}, float64(GeluTanh))
	for i, v := range x {
		f := float64(v)
		u := math.Sqrt(2/math.Pi) * (f + 0.044715*f*f*f)
		require.InEpsilon(t, f/(1+math.Exp(-2*u)), y[i], 1e-7, "tanh gelu(%v)", v)
	}
}

func TestNormalTail(t *testing.T) {
	var worst float64
	for z := 0.0; z <= 15; z += 1.0 / 512 {
		tail, bell := normalTail[float32](z)
		wantTail, wantBell := normalTail[float64](z)
		worst = max(worst, math.Abs(tail/wantTail-1))
		require.InEpsilon(t, wantBell, bell, 2e-10)
	}
	require.Less(t, worst, 4e-9)
}

func TestGeluSpecialValues(t *testing.T) {
	testGeluSpecialValues[float32](t)
	testGeluSpecialValues[float64](t)
}

func testGeluSpecialValues[T Float](t *testing.T) {
	inf, nan := T(math.Inf(1)), T(math.NaN())
	var k Elementwise[T]
	for _, exact := range []bool{false, true} {
		x := []T{inf, 1e30, 50, -50, -1e30, -inf, 0, nan}
		y := make([]T, len(x))
		k.Run(nil, Activate[T], [][]T{y}, [][]T{x}, float64(Gelu(exact)))
		require.Equal(t, []T{inf, 1e30, 50}, y[:3], "exact=%v", exact)
		for _, v := range y[3:7] {
			require.Zero(t, v)
		}
		require.True(t, math.IsNaN(float64(y[7])))

		ones, dx := []T{1, 1, 1, 1, 1, 1, 1, 1}, make([]T, len(x))
		k.Run(nil, ActivateGradient[T], [][]T{dx}, [][]T{ones, x}, float64(Gelu(exact)))
		require.Equal(t, []T{1, 1, 1, 0, 0, 0, 0.5}, dx[:7], "exact=%v", exact)
		require.True(t, math.IsNaN(float64(dx[7])))
	}
}

func TestGeluBackwardFiniteDifferences(t *testing.T) {
	const h = 1e-5
	x := geluInputs[float64]()
	dy := normals[float64](4, len(x), 1)
	up, down, dx := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	for _, exact := range []bool{false, true} {
		var k Elementwise[float64]
		want := make([]float64, len(x))
		for i, v := range x {
			up[i], down[i] = v+h, v-h
		}
		k.Run(nil, Activate[float64], [][]float64{up}, [][]float64{up}, float64(Gelu(exact)))
		k.Run(nil, Activate[float64], [][]float64{down}, [][]float64{down}, float64(Gelu(exact)))
		for i := range want {
			want[i] = dy[i] * (up[i] - down[i]) / (2 * h)
		}
		k.Run(NewPool(3), ActivateGradient[float64], [][]float64{dx}, [][]float64{dy, x}, float64(Gelu(exact)))
		requireNear(t, want, dx, 3e-9, fmt.Sprintf("exact=%v", exact))
	}
}

func TestGeluBackwardSingle(t *testing.T) {
	x := geluInputs[float32]()
	dy := normals[float32](5, len(x), 1)
	want, dx := make([]float64, len(x)), make([]float32, len(x))
	for _, exact := range []bool{false, true} {
		var k64 Elementwise[float64]
		k64.Run(nil, ActivateGradient[float64], [][]float64{want}, [][]float64{widen(dy), widen(x)}, float64(Gelu(exact)))
		var k Elementwise[float32]
		k.Run(NewPool(2), ActivateGradient[float32], [][]float32{dx}, [][]float32{dy, x}, float64(Gelu(exact)))
		requireNear(t, want, dx, 2e-7, fmt.Sprintf("exact=%v", exact))
		inPlace := slices.Clone(dy)
		k.Run(nil, ActivateGradient[float32], [][]float32{inPlace}, [][]float32{inPlace, x}, float64(Gelu(exact)))
		require.Equal(t, dx, inPlace)
	}
}

func TestGeluThreadsAndAllocations(t *testing.T) {
	x, dy := geluInputs[float32](), geluInputs[float32]()
	for _, exact := range []bool{false, true} {
		var wantY, wantDx []float32
		for threads := 1; threads <= 3; threads++ {
			y, dx := make([]float32, len(x)), make([]float32, len(x))
			p := NewPool(threads)
			var k Elementwise[float32]
			requireNoAllocations(t, func() {
				k.Run(p, Activate[float32], [][]float32{y}, [][]float32{x}, float64(Gelu(exact)))
				k.Run(p, ActivateGradient[float32], [][]float32{dx}, [][]float32{dy, x}, float64(Gelu(exact)))
			})
			if threads == 1 {
				wantY, wantDx = y, dx
			}
			require.Equal(t, wantY, y)
			require.Equal(t, wantDx, dx)
			p.Close()
		}
	}
}

func BenchmarkGelu(b *testing.B) {
	x, dy := normals[float32](6, 4096, 1), normals[float32](7, 4096, 1)
	y := make([]float32, len(x))
	var k Elementwise[float32]
	for _, exact := range []bool{false, true} {
		b.Run(fmt.Sprintf("forward exact=%v", exact), func(b *testing.B) {
			for b.Loop() {
				k.Run(nil, Activate[float32], [][]float32{y}, [][]float32{x}, float64(Gelu(exact)))
			}
			reportPerElement(b, len(x))
		})
		b.Run(fmt.Sprintf("backward exact=%v", exact), func(b *testing.B) {
			for b.Loop() {
				k.Run(nil, ActivateGradient[float32], [][]float32{y}, [][]float32{dy, x}, float64(Gelu(exact)))
			}
			reportPerElement(b, len(x))
		})
	}
}
