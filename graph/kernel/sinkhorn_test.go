package kernel

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// naiveGates computes the coefficients of streamGates with plain loops in float64; carry
// makes one token's H [n, n] of its logits.
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

// naiveSinkhorn is the definition, with the largest of the whole matrix.
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

// gatesData is what the coefficients of streamGates are computed of.
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

// gatesKernel is a kernel on streamGates at one set of sizes.
type gatesKernel[T Float] struct {
	forward  func(p *Pool, s gatesData[T])
	backward func(p *Pool, g [3][]T, s gatesData[T], accumulateAlpha, accumulateBias bool)
}

func newSinkhorn[T Float](p path, d SinkhornParams) gatesKernel[T] {
	k := &Sinkhorn[T]{path: p}
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
	if len(w.z) < 400 { // more take too long
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

// checkGatesOptions accumulates each gradient of a parameter, and leaves each out.
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

func TestSinkhorn(t *testing.T) {
	for _, d := range []SinkhornParams{
		{1, 1, 1}, {33, 1, 3}, {1, 2, 3}, {31, 2, 20}, {67, 3, 1}, {7, 3, 5}, {5, 4, 20}, {64, 4, 2}, {131, 4, 20}, {3, 5, 7}, {37, 8, 2},
	} {
		t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) {
			checkGates(t, func() gatesKernel[float64] { return newSinkhorn[float64](portable, d) },
				func(p path) gatesKernel[float32] { return newSinkhorn[float32](p, d) },
				newGatesData[float32](d.Tokens, d.N, d.Columns(), 1.5),
				func(s gatesData[float64]) []float64 {
					return naiveGates(s.z, s.alpha, s.bias, d.Tokens, d.N, naiveSinkhorn(d.N, d.Iterations))
				})
		})
	}
}

// TestSinkhornSums wants sums of H's rows of 1, and of its columns as near to 1 as 20
// iterations bring them for normal logits of a standard deviation: of each token the
// column that is worst.
func TestSinkhornSums(t *testing.T) {
	d := SinkhornParams{Tokens: 1024, N: 4, Iterations: 20}
	for deviation, tolerance := range map[float64]struct{ median, p99 float64 }{1: {1e-12, 5e-6}, 4: {5e-3, 6e-2}, 16: {6e-2, 0.5}} {
		testSinkhornSums[float64](t, portable, d, deviation, tolerance.median, tolerance.p99, 1e-14)
		forEachPath[float32](t, func(t *testing.T, p path) {
			testSinkhornSums[float32](t, p, d, deviation, max(1e-6, tolerance.median), tolerance.p99, 5e-7)
		})
	}
}

func testSinkhornSums[T Float](t *testing.T, p path, d SinkhornParams, deviation, median, p99, rounding float64) {
	s := newGatesData[T](d.Tokens, d.N, d.Columns(), deviation)
	s.alpha, s.bias = []T{1, 1, 1}, make([]T, d.Columns())
	newSinkhorn[T](p, d).forward(nil, s)
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

// TestSinkhornMagnitudes wants numbers, not NaN, and rows that sum to 1, of logits of every
// magnitude; and dz that are numbers.
func TestSinkhornMagnitudes(t *testing.T) {
	for n := 1; n <= 5; n++ {
		d := SinkhornParams{Tokens: 256, N: n, Iterations: 20}
		for _, scale := range []float64{0, 1e-30, 50, 300, 1e4, 1e30} {
			testSinkhornMagnitude[float64](t, portable, d, scale)
			forEachPath[float32](t, func(t *testing.T, p path) { testSinkhornMagnitude[float32](t, p, d, scale) })
		}
	}
}

func testSinkhornMagnitude[T Float](t *testing.T, p path, d SinkhornParams, scale float64) {
	s := newGatesData[T](d.Tokens, d.N, d.Columns(), scale)
	k, g := newSinkhorn[T](p, d), s.gradients()
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

func TestSinkhornSameBits(t *testing.T) {
	d := SinkhornParams{Tokens: 205, N: 4, Iterations: 5}
	run := func(threads int) [4][]float32 {
		s := newGatesData[float32](d.Tokens, d.N, d.Columns(), 1)
		p, k, g := NewPool(threads), newSinkhorn[float32](fastest, d), s.gradients()
		defer p.Close()
		k.forward(p, s)
		k.backward(p, g, s, false, false)
		return [4][]float32{s.c, g[0], g[1], g[2]}
	}
	one := run(1)
	for threads := 1; threads <= 3; threads++ {
		got := run(threads)
		require.Equal(t, got, run(threads))
		require.Equal(t, one[:2], got[:2], "tokens do not depend on the thread count")
	}
}

func TestSinkhornWarmAllocatesNothing(t *testing.T) {
	for _, n := range []int{4, 5} {
		d := SinkhornParams{Tokens: 70, N: n, Iterations: 3}
		s := newGatesData[float32](d.Tokens, d.N, d.Columns(), 1)
		p, k, g := NewPool(2), newSinkhorn[float32](fastest, d), s.gradients()
		requireNoAllocations(t, func() {
			k.forward(p, s)
			k.backward(p, g, s, true, false)
		})
	}
}

// BenchmarkSinkhorn is mHC's default, and eight streams.
func BenchmarkSinkhorn(b *testing.B) {
	for _, n := range []int{4, 8} {
		d := SinkhornParams{Tokens: 4096, N: n, Iterations: 20}
		s := newGatesData[float32](d.Tokens, d.N, d.Columns(), 1)
		p, k, g := NewPool(runtime.GOMAXPROCS(0)), newSinkhorn[float32](fastest, d), s.gradients()
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

// TestSinkhornStaysInside looks at the elements beside the matrices, whose first entry's
// slice alone the assembly is given.
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
