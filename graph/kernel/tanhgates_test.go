package kernel

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// tanhGatesData holds the inputs and outputs of one TanhGates.
type tanhGatesData[T Float] struct{ z, static, scale, c, dc []T }

func newTanhGatesData[T Float](d TanhGatesParams) tanhGatesData[T] {
	n, scale := d.Tokens*d.size(), d.size()
	if d.Pair {
		scale = 2
	}
	return tanhGatesData[T]{normals[T](1, n, 1), normals[T](2, d.size(), 1), normals[T](3, scale, 1), make([]T, n), normals[T](4, n, 1)}
}

func (s tanhGatesData[T]) widened() tanhGatesData[float64] {
	return tanhGatesData[float64]{widen(s.z), widen(s.static), widen(s.scale), widen(s.c), widen(s.dc)}
}

// gradients returns new slices for dz, dstatic and dscale.
func (s tanhGatesData[T]) gradients() [3][]T {
	return [3][]T{make([]T, len(s.z)), make([]T, len(s.static)), make([]T, len(s.scale))}
}

func (s tanhGatesData[T]) forward(k *TanhGates[T], p *Pool, d TanhGatesParams) {
	k.Forward(p, s.c, s.z, s.static, s.scale, d)
}

func (s tanhGatesData[T]) backward(k *TanhGates[T], p *Pool, g [3][]T, accumulateStatic, accumulateScale bool, d TanhGatesParams) {
	k.Backward(p, g[0], g[1], g[2], s.dc, s.z, s.scale, accumulateStatic, accumulateScale, d)
}

func tanhGatesCases(t *testing.T, test func(t *testing.T, d TanhGatesParams)) {
	for _, d := range []TanhGatesParams{
		{Tokens: 1, N: 1, K: 1, Tau: 1}, {Tokens: 3, N: 2, K: 4, Tau: 0.5}, {Tokens: 131, N: 3, K: 7, Tau: 0.05}, {Tokens: 97, N: 4, K: 6, Tau: 1},
		{Tokens: 5, N: 13, K: 97, Tau: 0.3},
	} {
		for _, pair := range []bool{false, true} {
			d.Pair = pair
			t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) { test(t, d) })
		}
	}
}

// naiveTanhGates follows the definition. The last column uses the second scale of a pair.
func naiveTanhGates(s tanhGatesData[float64], d TanhGatesParams) (c []float64) {
	for i, v := range s.z {
		e := i % d.size()
		scale := 0.0
		switch {
		case !d.Pair:
			scale = s.scale[e]
		case e%d.K < d.K-1:
			scale = s.scale[0]
		default:
			scale = s.scale[1]
		}
		c = append(c, s.static[e]+scale*math.Tanh(d.Tau*v))
	}
	return c
}

func TestTanhGates(t *testing.T) {
	tanhGatesCases(t, func(t *testing.T, d TanhGatesParams) {
		s := newTanhGatesData[float32](d)
		w := s.widened()
		var k64 TanhGates[float64]
		w.forward(&k64, NewPool(2), d)
		requireNear(t, naiveTanhGates(w, d), w.c, 1e-14, "c in float64")
		want := w.gradients()
		w.backward(&k64, NewPool(3), want, false, false, d)
		if len(w.z) < 600 { // larger cases take too long
			loss := func() float64 {
				w.forward(&k64, nil, d)
				return inner(w.c, w.dc)
			}
			for i, x := range [][]float64{w.z, w.static, w.scale} {
				requireNear(t, slope(x, loss), want[i], 1e-7, []string{"dz", "dstatic", "dscale"}[i])
			}
			loss()
		}
		forEachPath[float32](t, func(t *testing.T, p path) {
			k, pool := TanhGates[float32]{path: p}, NewPool(2)
			s.forward(&k, pool, d)
			requireNear(t, w.c, s.c, 2e-7, "c")
			got := s.gradients()
			s.backward(&k, pool, got, false, false, d)
			requireNear(t, want[0], got[0], 5e-7, "dz")
			requireNear(t, want[1], got[1], 2e-6, "dstatic")
			requireNear(t, want[2], got[2], 1e-5, "dscale")
			testTanhGatesOptions(t, &k, pool, s, d, got)
		})
	})
}

// testTanhGatesOptions accumulates each parameter's gradient, omits each, and overwrites dc with
// dz.
func testTanhGatesOptions(t *testing.T, k *TanhGates[float32], p *Pool, s tanhGatesData[float32], d TanhGatesParams, want [3][]float32) {
	got := s.gradients()
	s.backward(k, p, [3][]float32{got[0], nil, got[2]}, true, false, d)
	s.backward(k, p, [3][]float32{got[0], got[1], nil}, false, true, d)
	require.Equal(t, want, got)
	s.backward(k, p, got, true, false, d)
	requireNear(t, doubled(want[1]), got[1], 1e-6, "accumulated dstatic")
	require.Equal(t, want[2], got[2])
	s.backward(k, p, got, false, true, d)
	require.Equal(t, want[1], got[1])
	requireNear(t, doubled(want[2]), got[2], 1e-6, "accumulated dscale")
	s.dc = append([]float32(nil), s.dc...)
	s.backward(k, p, [3][]float32{s.dc, nil, nil}, false, false, d)
	require.Equal(t, want[0], s.dc, "dz in the place of dc")
}

// TestVectorTanhOfEveryMagnitude compares with math.Tanh, and the slope with its formula.
func TestVectorTanhOfEveryMagnitude(t *testing.T) {
	x := everyFloat(sweepBits() - 2)
	one, zero := make([]float32, len(x)), make([]float32, len(x))
	for i := range one {
		one[i] = 1
	}
	forEachPath[float32](t, func(t *testing.T, p path) {
		for _, tau := range []float64{1, 0.125} {
			y, slope, sums := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
			tanhGates(p, y, x, one, zero, tau)
			tanhGatesGradient(p, slope, sums, one, x, one, tau)
			for i, v := range x {
				want := math.Tanh(tau * float64(v))
				requireSame(t, v, want, y[i], 1.01, 0)
				requireSame(t, v, want, sums[i], 1.01, 0)
				requireSame(t, v, tau*(1-want)*(1+want), slope[i], 2, 3e-7)
			}
		}
	})
}

func TestTanhGatesSameBitsForAnyThreads(t *testing.T) {
	d := TanhGatesParams{Tokens: 1505, N: 3, K: 7, Tau: 0.7}
	requireSameBitsForAnyThreads(t, func(p *Pool) [][]float32 {
		s := newTanhGatesData[float32](d)
		g := s.gradients()
		var k TanhGates[float32]
		s.forward(&k, p, d)
		s.backward(&k, p, g, false, false, d)
		return [][]float32{s.c, g[0], g[1], g[2]}
	})
}

func TestTanhGatesWarmAllocatesNothing(t *testing.T) {
	d := TanhGatesParams{Tokens: 90, N: 3, K: 7, Tau: 0.7, Pair: true}
	s := newTanhGatesData[float32](d)
	p, g := NewPool(2), s.gradients()
	var k TanhGates[float32]
	requireNoAllocations(t, func() {
		s.forward(&k, p, d)
		s.backward(&k, p, g, true, false, d)
	})
}

// BenchmarkTanhGates measures dynamic hyper-connections with four streams.
func BenchmarkTanhGates(b *testing.B) {
	d := TanhGatesParams{Tokens: 4096, N: 4, K: 6, Tau: 1, Pair: true}
	s := newTanhGatesData[float32](d)
	p, g := NewPool(runtime.GOMAXPROCS(0)), s.gradients()
	defer p.Close()
	var k TanhGates[float32]
	b.Run("forward", func(b *testing.B) {
		for b.Loop() {
			s.forward(&k, p, d)
		}
		reportPerElement(b, len(s.z))
	})
	b.Run("backward", func(b *testing.B) {
		for b.Loop() {
			s.backward(&k, p, g, true, true, d)
		}
		reportPerElement(b, len(s.z))
	})
}
