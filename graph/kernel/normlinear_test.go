package kernel

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// naiveNormLinear normalises by naiveNorm and multiplies by plain loops, in float64.
func naiveNormLinear(x, gain, w []float64, d NormLinearParams) (z, mean, rstd []float64) {
	if gain == nil {
		gain = make([]float64, d.Width)
		for i := range gain {
			gain[i] = 1
		}
	}
	n, mean, rstd := naiveNorm(x, gain, nil, NormParams{Rows: d.Rows, Width: d.Width, RMS: d.RMS, Eps: d.Eps})
	z = make([]float64, d.Rows*d.K)
	for r := range d.Rows {
		for i := range d.Width {
			for j := range d.K {
				z[r*d.K+j] += n[r*d.Width+i] * w[i*d.K+j]
			}
		}
	}
	return z, mean, rstd
}

// normLinearCases runs test with sizes that leave a rest in every loop, with means that are small
// (0.5 deviations), large in every row, and large in some rows.
func normLinearCases(t *testing.T, test func(t *testing.T, d NormLinearParams, gain bool, far int)) {
	for _, d := range []NormLinearParams{
		{Rows: 1, Width: 2, K: 1}, {Rows: 1, Width: 13, K: 3}, {Rows: 5, Width: 7, K: 11}, {Rows: 61, Width: 3, K: 5},
		{Rows: 127, Width: 17, K: 6}, {Rows: 263, Width: 37, K: 33}, {Rows: 3, Width: 1031, K: 7},
	} {
		for _, rms := range []bool{false, true} {
			for far := range 3 {
				d.RMS, d.Eps = rms, 1e-4
				gain := far != 1
				t.Run(fmt.Sprintf("%+v/gain=%t/far=%d", d, gain, far), func(t *testing.T) { test(t, d, gain, far) })
			}
		}
	}
}

// normLinearData holds the inputs and outputs of one NormLinear.
type normLinearData[T Float] struct{ x, gain, w, dz, z, mean, rstd, addend []T }

func newNormLinearData[T Float](d NormLinearParams, gain bool, far int) normLinearData[T] {
	s := normLinearData[T]{
		x: normals[T](1, d.Rows*d.Width, 2), w: normals[T](3, d.Width*d.K, 1), dz: normals[T](4, d.Rows*d.K, 1),
		z: make([]T, d.Rows*d.K), mean: make([]T, d.Rows), rstd: make([]T, d.Rows),
	}
	if gain {
		s.gain = normals[T](2, d.Width, 1)
	}
	for i := range s.x {
		s.x[i]++
		if row := i / d.Width; far > 0 && row%far == 0 {
			s.x[i] += 30
		}
	}
	return s
}

// widened returns a copy in float64.
func (s normLinearData[T]) widened() normLinearData[float64] {
	w := normLinearData[float64]{x: widen(s.x), w: widen(s.w), dz: widen(s.dz), z: widen(s.z), mean: widen(s.mean), rstd: widen(s.rstd)}
	if s.gain != nil {
		w.gain = widen(s.gain)
	}
	return w
}

// gradients returns new slices for dx, dgain and dw.
func (s normLinearData[T]) gradients() (g [3][]T) {
	g[0], g[2] = make([]T, len(s.x)), make([]T, len(s.w))
	if s.gain != nil {
		g[1] = make([]T, len(s.gain))
	}
	return g
}

func (s normLinearData[T]) forward(k *NormLinear[T], p *Pool, d NormLinearParams) {
	k.Forward(p, s.z, s.x, s.gain, s.w, s.mean, s.rstd, d)
}

func (s normLinearData[T]) backward(k *NormLinear[T], p *Pool, g [3][]T, accumulateGain, accumulateW bool, d NormLinearParams) {
	k.Backward(p, NormLinearGrads[T]{g[0], s.addend, g[1], g[2], accumulateGain, accumulateW}, s.dz, s.z, s.x, s.gain, s.w, s.mean, s.rstd, d)
}

func TestNormLinearForward(t *testing.T) {
	normLinearCases(t, func(t *testing.T, d NormLinearParams, gain bool, far int) {
		forEachPath[float32](t, func(t *testing.T, p path) { testNormLinearForward[float32](t, p, d, gain, far, 2e-5) })
		testNormLinearForward[float64](t, portable, d, gain, far, 1e-12)
	})
}

func testNormLinearForward[T Float](t *testing.T, p path, d NormLinearParams, gain bool, far int, tolerance float64) {
	s := newNormLinearData[T](d, gain, far)
	w := s.widened()
	wantZ, wantMean, wantRstd := naiveNormLinear(w.x, w.gain, w.w, d)
	k := NormLinear[T]{path: p}
	s.forward(&k, NewPool(2), d)
	requireNear(t, wantZ, s.z, tolerance, "z")
	requireNear(t, wantMean, s.mean, tolerance, "mean")
	requireNear(t, wantRstd, s.rstd, tolerance, "rstd")
}

func TestNormLinearBackwardFiniteDifferences(t *testing.T) {
	most := 60_000
	if longtest.Enabled() {
		most = 200_000
	}
	normLinearCases(t, func(t *testing.T, d NormLinearParams, gain bool, far int) {
		if d.Rows*d.Width*d.Rows*d.K > most {
			return // central differences of so large a case take too long
		}
		s := newNormLinearData[float64](d, gain, far)
		var k NormLinear[float64]
		loss := func() float64 {
			s.forward(&k, nil, d)
			return inner(s.z, s.dz)
		}
		want := [3][]float64{slope(s.x, loss), slope(s.gain, loss), slope(s.w, loss)}
		loss()
		got := s.gradients()
		s.backward(&k, NewPool(3), got, false, false, d)
		for i, what := range []string{"dx", "dgain", "dw"} {
			requireNear(t, want[i], got[i], 1e-6, what)
		}
	})
}

func TestNormLinearBackwardSingle(t *testing.T) {
	normLinearCases(t, func(t *testing.T, d NormLinearParams, gain bool, far int) {
		s := newNormLinearData[float32](d, gain, far)
		w := s.widened()
		var k64 NormLinear[float64]
		w.forward(&k64, nil, d)
		want := w.gradients()
		w.backward(&k64, nil, want, false, false, d)
		forEachPath[float32](t, func(t *testing.T, p path) {
			k, pool := NormLinear[float32]{path: p}, NewPool(2)
			s.forward(&k, pool, d)
			got := s.gradients()
			s.backward(&k, pool, got, false, false, d)
			requireNear(t, want[0], got[0], 2e-5, "dx")
			requireNear(t, want[1], got[1], 1e-4, "dgain") // sums of terms up to a hundred times larger
			requireNear(t, want[2], got[2], 2e-5, "dw")
			testNormLinearOptions(t, &k, pool, s, d, got)
		})
	})
}

// testNormLinearOptions runs Backward with only one gradient wanted, with each accumulated, and
// with an addend; want holds the right gradients.
func testNormLinearOptions(t *testing.T, k *NormLinear[float32], p *Pool, s normLinearData[float32], d NormLinearParams, want [3][]float32) {
	got := s.gradients()
	s.backward(k, p, [3][]float32{got[0], nil, nil}, true, true, d)
	require.Equal(t, want[0], got[0])
	s.backward(k, p, [3][]float32{got[0], got[1], nil}, false, true, d)
	require.Equal(t, want[1], got[1])
	s.backward(k, p, [3][]float32{got[0], nil, got[2]}, true, false, d)
	require.Equal(t, want[2], got[2])

	s.backward(k, p, got, true, false, d)
	requireNear(t, doubled(want[1]), got[1], 1e-6, "accumulated dgain")
	require.Equal(t, want[2], got[2])
	s.backward(k, p, got, false, true, d)
	require.Equal(t, want[1], got[1])
	requireNear(t, doubled(want[2]), got[2], 1e-6, "accumulated dw")

	sum := normals[float32](5, len(s.x), 1)
	apart := make([]float32, len(sum))
	wantSum := widen(sum)
	for i, v := range want[0] {
		wantSum[i] += float64(v)
	}
	s.addend = sum
	s.backward(k, p, [3][]float32{apart, nil, nil}, false, false, d)
	s.backward(k, p, [3][]float32{sum, nil, nil}, false, false, d)
	require.Equal(t, apart, sum, "dx apart from the addend, and in its place")
	requireNear(t, wantSum, sum, 1e-6, "dx with an addend")
}

// Gradients of parameters are sums over all rows: the error must not grow with their number.
func TestNormLinearManyRows(t *testing.T) {
	longtest.Skip(t) // 32,768 rows
	d := NormLinearParams{Rows: 32768, Width: 5, K: 3, Eps: 1e-6}
	s := newNormLinearData[float32](d, true, 0)
	for i := range s.dz {
		s.dz[i] += s.x[i%len(s.x)] // makes sums that grow with the number of rows
	}
	w := s.widened()
	var k64 NormLinear[float64]
	var k NormLinear[float32]
	w.forward(&k64, nil, d)
	s.forward(&k, nil, d)
	want, got := w.gradients(), s.gradients()
	w.backward(&k64, nil, want, false, false, d)
	s.backward(&k, nil, got, false, false, d)
	requireNear(t, want[1], got[1], 3e-6, "dgain")
	requireNear(t, want[2], got[2], 3e-6, "dw")
}

func TestNormLinearSameBitsForAnyThreads(t *testing.T) {
	d := NormLinearParams{Rows: 1111, Width: 24, K: 7, Eps: 1e-6}
	requireSameBitsForAnyThreads(t, func(p *Pool) [][]float32 {
		s := newNormLinearData[float32](d, true, 2)
		g := s.gradients()
		var k NormLinear[float32]
		s.forward(&k, p, d)
		s.backward(&k, p, g, false, false, d)
		return [][]float32{s.z, g[0], g[1], g[2]}
	})
}

func TestNormLinearWarmAllocatesNothing(t *testing.T) {
	d := NormLinearParams{Rows: 90, Width: 24, K: 7, Eps: 1e-6}
	s := newNormLinearData[float32](d, true, 2)
	g := s.gradients()
	p := NewPool(2)
	var k NormLinear[float32]
	requireNoAllocations(t, func() {
		s.forward(&k, p, d)
		s.backward(&k, p, g, true, false, d)
	})
}

// BenchmarkNormLinear measures the coefficients of dynamic hyper-connections (widths 256 and 768,
// four streams), of a virtual width network and of mHC, for 2048 or 4096 tokens. GB/s counts x, and
// backward also the addend and dx.
func BenchmarkNormLinear(b *testing.B) {
	for _, d := range []NormLinearParams{
		{Rows: 16384, Width: 256, K: 6, Eps: 1e-6}, {Rows: 8192, Width: 768, K: 6, Eps: 1e-6},
		{Rows: 12288, Width: 384, K: 7, Eps: 1e-6, RMS: true},
		{Rows: 4096, Width: 1024, K: 24, Eps: 1e-6, RMS: true}, {Rows: 4096, Width: 3072, K: 24, Eps: 1e-6, RMS: true},
		{Rows: 4096, Width: 3072, K: 32, Eps: 1e-6, RMS: true},
	} {
		benchmarkNormLinear(b, d)
	}
}

func benchmarkNormLinear(b *testing.B, d NormLinearParams) {
	s := newNormLinearData[float32](d, d.K < 10, 0)
	g := s.gradients()
	pool := NewPool(runtime.GOMAXPROCS(0))
	defer pool.Close()
	var k NormLinear[float32]
	report := func(b *testing.B, streams, products int) {
		seconds := b.Elapsed().Seconds() / float64(b.N)
		b.ReportMetric(float64(4*streams*len(s.x))/seconds/1e9, "GB/s")
		b.ReportMetric(float64(2*products*len(s.x)*d.K)/seconds/1e9, "GFLOPS")
	}
	b.Run(fmt.Sprintf("forward/rows=%d_width=%d_k=%d", d.Rows, d.Width, d.K), func(b *testing.B) {
		for b.Loop() {
			s.forward(&k, pool, d)
		}
		report(b, 1, 1)
	})
	b.Run(fmt.Sprintf("backward/rows=%d_width=%d_k=%d", d.Rows, d.Width, d.K), func(b *testing.B) {
		s.addend = g[0]
		for b.Loop() {
			s.backward(&k, pool, g, true, true, d)
		}
		report(b, 3, 2)
	})
}
