package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// naiveGates computes the coefficients of StreamGates with plain loops in float64; carry computes
// one token's H [n, n] from its logits.
func naiveGates(z, alpha, bias []float64, tokens, n int, carry func(logits []float64) []float64) (c []float64) {
	columns := len(bias)
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for t := range tokens {
		zt := make([]float64, columns)
		for j := range zt {
			zt[j] = alpha[min(j/n, 2)]*z[t*columns+j] + bias[j]
		}
		h := carry(zt[2*n:])
		for i := range n {
			c = append(c, logistic(zt[i]))
			for k := range n {
				c = append(c, h[k*n+i])
			}
			c = append(c, 2*logistic(zt[n+i]))
		}
	}
	return c
}

// naiveSinkhorn follows the definition, subtracting the largest entry of the whole matrix.
func naiveSinkhorn(n, iterations int) func(logits []float64) []float64 {
	return func(logits []float64) []float64 {
		largest := math.Inf(-1)
		for _, v := range logits {
			largest = max(largest, v)
		}
		m := make([]float64, n*n)
		for e, v := range logits {
			m[e] = math.Exp(v - largest)
		}
		for range iterations {
			for j := range n {
				sum := 0.0
				for i := range n {
					sum += m[i*n+j]
				}
				for i := range n {
					m[i*n+j] /= sum
				}
			}
			for i := range n {
				sum := 0.0
				for j := range n {
					sum += m[i*n+j]
				}
				for j := range n {
					m[i*n+j] /= sum
				}
			}
		}
		return m
	}
}

// gatesData holds the inputs and outputs of StreamGates.
type gatesData[T Float] struct{ z, alpha, bias, c, dc []T }

func newGatesData[T Float](tokens, n, columns int, scale float64) gatesData[T] {
	return gatesData[T]{z: normals[T](1, tokens*columns, scale), alpha: []T{0.7, -1.3, 0.9}, bias: normals[T](2, columns, 1),
		c: make([]T, tokens*n*(n+2)), dc: normals[T](3, tokens*n*(n+2), 1)}
}

func (s gatesData[T]) widened() gatesData[float64] {
	return gatesData[float64]{widen(s.z), widen(s.alpha), widen(s.bias), widen(s.c), widen(s.dc)}
}

// gradients returns new slices for dz, dalpha and dbias.
func (s gatesData[T]) gradients() [3][]T {
	return [3][]T{make([]T, len(s.z)), make([]T, 3), make([]T, len(s.bias))}
}

// gatesKernel is a StreamGates for one set of sizes.
type gatesKernel[T Float] struct {
	forward  func(p *Pool, s gatesData[T])
	backward func(p *Pool, g [3][]T, s gatesData[T], accumulateAlpha, accumulateBias bool)
}

func newGates[T Float](p path, d StreamGatesParams) gatesKernel[T] {
	k := &StreamGates[T]{path: p}
	return gatesKernel[T]{
		func(p *Pool, s gatesData[T]) { k.Forward(p, s.c, s.z, s.alpha, s.bias, d) },
		func(p *Pool, g [3][]T, s gatesData[T], accumulateAlpha, accumulateBias bool) {
			k.Backward(p, g[0], g[1], g[2], s.dc, s.z, s.alpha, s.bias, accumulateAlpha, accumulateBias, d)
		},
	}
}

// checkGates compares a kernel with the naive coefficients, its gradients with difference
// quotients in float64, and every path with float64.
func checkGates(t *testing.T, make64 func() gatesKernel[float64], make32 func(p path) gatesKernel[float32], s gatesData[float32], naive func(s gatesData[float64]) []float64) {
	w := s.widened()
	k := make64()
	k.forward(NewPool(2), w)
	requireNear(t, naive(w), w.c, 1e-12, "c in float64")
	want := w.gradients()
	k.backward(NewPool(3), want, w, false, false)
	if len(w.z) < 400 { // larger cases take too long
		loss := func() float64 {
			k.forward(nil, w)
			return inner(w.c, w.dc)
		}
		for i, x := range [][]float64{w.z, w.alpha, w.bias} {
			requireNear(t, slope(x, loss), want[i], 1e-6, []string{"dz", "dalpha", "dbias"}[i])
		}
		loss()
	}
	forEachPath[float32](t, func(t *testing.T, p path) {
		k := make32(p)
		k.forward(NewPool(2), s)
		requireNear(t, w.c, s.c, 3e-6, "c")
		got := s.gradients()
		k.backward(NewPool(2), got, s, false, false)
		requireNear(t, want[0], got[0], 1e-5, "dz")
		requireNear(t, want[1], got[1], 1e-4, "dalpha") // a sum over all entries
		requireNear(t, want[2], got[2], 3e-5, "dbias")
		checkGatesOptions(t, k, s, got)
	})
}

// checkGatesOptions accumulates each parameter's gradient, and omits each in turn.
func checkGatesOptions(t *testing.T, k gatesKernel[float32], s gatesData[float32], want [3][]float32) {
	p, got := NewPool(2), s.gradients()
	k.backward(p, [3][]float32{got[0], nil, got[2]}, s, true, false)
	k.backward(p, [3][]float32{got[0], got[1], nil}, s, false, true)
	require.Equal(t, want, got)
	k.backward(p, got, s, true, false)
	requireNear(t, doubled(want[1]), got[1], 1e-6, "accumulated dalpha")
	require.Equal(t, want[2], got[2])
	k.backward(p, got, s, false, true)
	require.Equal(t, want[1], got[1])
	requireNear(t, doubled(want[2]), got[2], 1e-6, "accumulated dbias")
}
