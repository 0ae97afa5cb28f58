package kernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// naiveKronecker follows the definition, U_1 ⊗ (U_2 ⊗ ...).
func naiveKronecker(logits []float64) []float64 {
	if len(logits) == 0 {
		return []float64{1}
	}
	rest := naiveKronecker(logits[2:]) // [m, m]
	m := int(math.Sqrt(float64(len(rest))))
	keep := math.Exp(logits[0]) / (math.Exp(logits[0]) + math.Exp(logits[1]))
	h := make([]float64, 4*m*m)
	for i := range 2 * m {
		for j := range 2 * m {
			u := keep
			if i/m != j/m {
				u = 1 - keep
			}
			h[i*2*m+j] = u * rest[i%m*m+j%m]
		}
	}
	return h
}

func TestKronecker(t *testing.T) {
	for _, d := range []StreamGatesParams{{Tokens: 3, N: 1, Carry: Kronecker}, {Tokens: 33, N: 2, Carry: Kronecker}, {Tokens: 7, N: 4, Carry: Kronecker}, {Tokens: 67, N: 4, Carry: Kronecker}, {Tokens: 35, N: 8, Carry: Kronecker}, {Tokens: 2, N: 32, Carry: Kronecker}} {
		t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) {
			checkGates(t, func() gatesKernel[float64] { return newGates[float64](portable, d) },
				func(p path) gatesKernel[float32] { return newGates[float32](p, d) },
				newGatesData[float32](d.Tokens, d.N, d.Columns(), 1.5),
				func(s gatesData[float64]) []float64 {
					return naiveGates(s.z, s.alpha, s.bias, d.Tokens, d.N, naiveKronecker)
				})
		})
	}
}

// TestKroneckerSums checks that for any logits the matrices are symmetric with rows that sum to 1
// up to rounding, and that no gradient is NaN.
func TestKroneckerSums(t *testing.T) {
	for _, n := range []int{1, 2, 4, 16} {
		d := StreamGatesParams{Tokens: 40, N: n, Carry: Kronecker}
		for _, scale := range []float64{0, 1, 100, 1e30} {
			testKroneckerSums[float64](t, portable, d, scale, 1e-14)
			forEachPath[float32](t, func(t *testing.T, p path) { testKroneckerSums[float32](t, p, d, scale, 1e-6) })
		}
	}
}

func testKroneckerSums[T Float](t *testing.T, p path, d StreamGatesParams, scale, rounding float64) {
	s := newGatesData[T](d.Tokens, d.N, d.Columns(), scale)
	k, g := newGates[T](p, d), s.gradients()
	k.forward(nil, s)
	k.backward(nil, g, s, false, false)
	for token := range d.Tokens {
		c := s.c[token*d.N*(d.N+2):]
		for a := range d.N {
			row := 0.0
			for b := range d.N {
				row += float64(c[a*(d.N+2)+1+b])
				require.Equal(t, c[a*(d.N+2)+1+b], c[b*(d.N+2)+1+a])
			}
			require.InDelta(t, 1, row, rounding)
		}
	}
	for i, v := range g[0] {
		require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0), "dz[%d] = %v, scale %v", i, v, scale)
	}
	if d.N > 1 {
		s.z[2*d.N] = T(math.NaN())
		k.forward(nil, s)
		require.True(t, math.IsNaN(float64(s.c[1])), "a NaN must not be hidden")
	}
}

func TestKroneckerWarmAllocatesNothing(t *testing.T) {
	d := StreamGatesParams{Tokens: 70, N: 4, Carry: Kronecker}
	s := newGatesData[float32](d.Tokens, d.N, d.Columns(), 1)
	p, k, g := NewPool(2), newGates[float32](fastest, d), s.gradients()
	requireNoAllocations(t, func() {
		k.forward(p, s)
		k.backward(p, g, s, true, false)
	})
}
