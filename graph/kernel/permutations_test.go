package kernel

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// listedPermutations lists the permutations of up to four numbers in lexicographic order.
var listedPermutations = map[int][]string{
	1: {"0"},
	2: {"01", "10"},
	3: {"012", "021", "102", "120", "201", "210"},
	4: {"0123", "0132", "0213", "0231", "0312", "0321", "1023", "1032", "1203", "1230", "1302", "1320",
		"2013", "2031", "2103", "2130", "2301", "2310", "3012", "3021", "3102", "3120", "3201", "3210"},
}

// naivePermutations follows the definition.
func naivePermutations(n int) func(logits []float64) []float64 {
	return func(logits []float64) []float64 {
		h, sum := make([]float64, n*n), 0.0
		for _, v := range logits {
			sum += math.Exp(v)
		}
		for r, permutation := range listedPermutations[n] {
			for i, j := range permutation {
				h[i*n+int(j-'0')] += math.Exp(logits[r]) / sum
			}
		}
		return h
	}
}

func TestPermutations(t *testing.T) {
	for _, d := range []StreamGatesParams{{Tokens: 1, N: 1, Carry: Permutations}, {Tokens: 33, N: 1, Carry: Permutations}, {Tokens: 7, N: 2, Carry: Permutations}, {Tokens: 67, N: 3, Carry: Permutations}, {Tokens: 1, N: 3, Carry: Permutations}, {Tokens: 5, N: 4, Carry: Permutations}, {Tokens: 131, N: 4, Carry: Permutations}} {
		t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) {
			checkGates(t, func() gatesKernel[float64] { return newGates[float64](portable, d) },
				func(p path) gatesKernel[float32] { return newGates[float32](p, d) },
				newGatesData[float32](d.Tokens, d.N, d.Columns(), 1.5),
				func(s gatesData[float64]) []float64 {
					return naiveGates(s.z, s.alpha, s.bias, d.Tokens, d.N, naivePermutations(d.N))
				})
		})
	}
}

// TestPermutationsSums checks that for any logits rows and columns sum to 1 up to rounding, and
// that no gradient is NaN.
func TestPermutationsSums(t *testing.T) {
	for n := 1; n <= 4; n++ {
		d := StreamGatesParams{Tokens: 200, N: n, Carry: Permutations}
		for _, scale := range []float64{0, 1, 100, 1e4, 1e30} {
			testPermutationsSums[float64](t, portable, d, scale, 1e-14)
			forEachPath[float32](t, func(t *testing.T, p path) { testPermutationsSums[float32](t, p, d, scale, 1e-6) })
		}
	}
}

func testPermutationsSums[T Float](t *testing.T, p path, d StreamGatesParams, scale, rounding float64) {
	s := newGatesData[T](d.Tokens, d.N, d.Columns(), scale)
	k, g := newGates[T](p, d), s.gradients()
	k.forward(nil, s)
	k.backward(nil, g, s, false, false)
	for token := range d.Tokens {
		c := s.c[token*d.N*(d.N+2):]
		for a := range d.N {
			row, column := 0.0, 0.0
			for b := range d.N {
				row += float64(c[b*(d.N+2)+1+a])
				column += float64(c[a*(d.N+2)+1+b])
			}
			require.InDelta(t, 1, row, rounding)
			require.InDelta(t, 1, column, rounding)
		}
	}
	for i, v := range g[0] {
		require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0), "dz[%d] = %v, scale %v", i, v, scale)
	}
	s.z[2*d.N] = T(math.NaN())
	k.forward(nil, s)
	require.True(t, math.IsNaN(float64(s.c[1])), "a NaN must not be hidden")
}

func TestPermutationsWarmAllocatesNothing(t *testing.T) {
	d := StreamGatesParams{Tokens: 70, N: 4, Carry: Permutations}
	s := newGatesData[float32](d.Tokens, d.N, d.Columns(), 1)
	p, k, g := NewPool(2), newGates[float32](fastest, d), s.gradients()
	requireNoAllocations(t, func() {
		k.forward(p, s)
		k.backward(p, g, s, true, false)
	})
}

// BenchmarkPermutations measures mHC-lite's default.
func BenchmarkPermutations(b *testing.B) {
	d := StreamGatesParams{Tokens: 4096, N: 4, Carry: Permutations}
	s := newGatesData[float32](d.Tokens, d.N, d.Columns(), 1)
	p, k, g := NewPool(runtime.GOMAXPROCS(0)), newGates[float32](fastest, d), s.gradients()
	defer p.Close()
	b.Run("forward", func(b *testing.B) {
		for b.Loop() {
			k.forward(p, s)
		}
	})
	b.Run("backward", func(b *testing.B) {
		for b.Loop() {
			k.backward(p, g, s, true, true)
		}
	})
}
