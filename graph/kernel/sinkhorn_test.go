package kernel

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSinkhorn(t *testing.T) {
	for _, d := range []StreamGatesParams{
		{Tokens: 1, N: 1, Iterations: 1}, {Tokens: 33, N: 1, Iterations: 3}, {Tokens: 1, N: 2, Iterations: 3}, {Tokens: 31, N: 2, Iterations: 20}, {Tokens: 67, N: 3, Iterations: 1}, {Tokens: 7, N: 3, Iterations: 5}, {Tokens: 5, N: 4, Iterations: 20}, {Tokens: 64, N: 4, Iterations: 2}, {Tokens: 131, N: 4, Iterations: 20}, {Tokens: 3, N: 5, Iterations: 7}, {Tokens: 37, N: 8, Iterations: 2},
	} {
		t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) {
			checkGates(t, func() gatesKernel[float64] { return newGates[float64](portable, d) },
				func(p path) gatesKernel[float32] { return newGates[float32](p, d) },
				newGatesData[float32](d.Tokens, d.N, d.Columns(), 1.5),
				func(s gatesData[float64]) []float64 {
					return naiveGates(s.z, s.alpha, s.bias, d.Tokens, d.N, naiveSinkhorn(d.N, d.Iterations))
				})
		})
	}
}

// TestSinkhornSums checks that H's rows sum to 1, and its columns as near to 1 as 20 iterations
// bring them for normal logits of standard deviation 1; for each token it takes the worst column.
func TestSinkhornSums(t *testing.T) {
	d := StreamGatesParams{Tokens: 1024, N: 4, Iterations: 20}
	for deviation, tolerance := range map[float64]struct{ median, p99 float64 }{1: {1e-12, 5e-6}, 4: {5e-3, 6e-2}, 16: {6e-2, 0.5}} {
		testSinkhornSums[float64](t, portable, d, deviation, tolerance.median, tolerance.p99, 1e-14)
		forEachPath[float32](t, func(t *testing.T, p path) {
			testSinkhornSums[float32](t, p, d, deviation, max(1e-6, tolerance.median), tolerance.p99, 5e-7)
		})
	}
}

func testSinkhornSums[T Float](t *testing.T, p path, d StreamGatesParams, deviation, median, p99, rounding float64) {
	s := newGatesData[T](d.Tokens, d.N, d.Columns(), deviation)
	s.alpha, s.bias = []T{1, 1, 1}, make([]T, d.Columns())
	newGates[T](p, d).forward(nil, s)
	var errors []float64
	for token := range d.Tokens {
		worst := 0.0
		for a := range d.N {
			row, column := 0.0, 0.0
			for b := range d.N {
				c := s.c[token*d.N*(d.N+2):]
				row += float64(c[b*(d.N+2)+1+a])    // H[a, b]
				column += float64(c[a*(d.N+2)+1+b]) // H[b, a]
			}
			require.InDelta(t, 1, row, rounding, "row %d of token %d", a, token)
			worst = max(worst, math.Abs(column-1))
		}
		errors = append(errors, worst)
	}
	slices.Sort(errors)
	n := len(errors)
	require.LessOrEqual(t, errors[n/2], median, "median, deviation %v", deviation)
	require.LessOrEqual(t, errors[n*99/100], p99, "99%%, deviation %v", deviation)
}

// TestSinkhornMagnitudes checks that logits of every magnitude give no NaN, rows that sum to 1, and
// gradients that are not NaN.
func TestSinkhornMagnitudes(t *testing.T) {
	for n := 1; n <= 5; n++ {
		d := StreamGatesParams{Tokens: 256, N: n, Iterations: 20}
		for _, scale := range []float64{0, 1e-30, 50, 300, 1e4, 1e30} {
			testSinkhornMagnitude[float64](t, portable, d, scale)
			forEachPath[float32](t, func(t *testing.T, p path) { testSinkhornMagnitude[float32](t, p, d, scale) })
		}
	}
}

func testSinkhornMagnitude[T Float](t *testing.T, p path, d StreamGatesParams, scale float64) {
	s := newGatesData[T](d.Tokens, d.N, d.Columns(), scale)
	k, g := newGates[T](p, d), s.gradients()
	k.forward(nil, s)
	k.backward(nil, g, s, false, false)
	for i, v := range s.c {
		require.True(t, v >= 0 && v <= 2.000001, "c[%d] = %v, scale %v", i, v, scale)
	}
	for token := range d.Tokens {
		for a := range d.N {
			row := 0.0
			for b := range d.N {
				row += float64(s.c[(token*d.N+b)*(d.N+2)+1+a])
			}
			require.InDelta(t, 1, row, 1e-6)
		}
	}
	for i, v := range g[0] {
		require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0), "dz[%d] = %v, scale %v", i, v, scale)
	}
	nan := T(math.NaN())
	s.z[2*d.N] = nan
	k.forward(nil, s)
	require.True(t, math.IsNaN(float64(s.c[1])), "a NaN must not be hidden")
}

func TestSinkhornSameBitsForAnyThreads(t *testing.T) {
	d := StreamGatesParams{Tokens: 305, N: 4, Iterations: 5}
	requireSameBitsForAnyThreads(t, func(p *Pool) [][]float32 {
		s := newGatesData[float32](d.Tokens, d.N, d.Columns(), 1)
		k, g := newGates[float32](fastest, d), s.gradients()
		k.forward(p, s)
		k.backward(p, g, s, false, false)
		return [][]float32{s.c, g[0], g[1], g[2]}
	})
}

func TestSinkhornWarmAllocatesNothing(t *testing.T) {
	for _, n := range []int{4, 5} {
		d := StreamGatesParams{Tokens: 70, N: n, Iterations: 3}
		s := newGatesData[float32](d.Tokens, d.N, d.Columns(), 1)
		p, k, g := NewPool(2), newGates[float32](fastest, d), s.gradients()
		requireNoAllocations(t, func() {
			k.forward(p, s)
			k.backward(p, g, s, true, false)
		})
	}
}

// BenchmarkSinkhorn measures mHC's default, and eight streams.
func BenchmarkSinkhorn(b *testing.B) {
	for _, n := range []int{4, 8} {
		d := StreamGatesParams{Tokens: 4096, N: n, Iterations: 20}
		s := newGatesData[float32](d.Tokens, d.N, d.Columns(), 1)
		p, k, g := NewPool(runtime.GOMAXPROCS(0)), newGates[float32](fastest, d), s.gradients()
		b.Run(fmt.Sprintf("forward/n=%d", n), func(b *testing.B) {
			for b.Loop() {
				k.forward(p, s)
			}
		})
		b.Run(fmt.Sprintf("backward/n=%d", n), func(b *testing.B) {
			for b.Loop() {
				k.backward(p, g, s, true, true)
			}
		})
		p.Close()
	}
}

// TestSinkhornStaysInside checks the elements around the matrices, because the assembly gets only
// the slice of the first entry.
func TestSinkhornStaysInside(t *testing.T) {
	forEachFastPath(t, func(t *testing.T, p path) {
		for n := 2; n <= 4; n++ {
			var given [][]float32
			for i := range 3 {
				given = append(given, normals[float32](uint64(i), n*n*gatedTokens, 1))
			}
			inside, around := surrounded(given, 5)
			sinkhornStart(p, inside[2], n)
			sinkhorn(p, inside[0], inside[1], inside[2], n)
			sinkhornGradient(p, inside[2], inside[0], inside[1], n)
			for _, a := range around {
				requireCanaries(t, a[:5])
				requireCanaries(t, a[5+n*n*gatedTokens:])
			}
		}
	})
}
