package kernel

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// naiveNormRead normalises by naiveNorm and reads by plain loops, in float64.
func naiveNormRead(x, gain, keys []float64, d NormReadParams) (out, mean, rstd []float64) {
	size := d.Dk * d.Dv
	xn, mean, rstd := naiveNorm(x, gain, nil, NormParams{Rows: d.Tokens, Width: size, RMS: d.RMS, Eps: d.Eps})
	out = make([]float64, d.Tokens*d.R*d.Dv)
	for t := range d.Tokens {
		for r := range d.R {
			for dk := range d.Dk {
				for dv := range d.Dv {
					out[(t*d.R+r)*d.Dv+dv] += keys[r*d.Dk+dk] * xn[t*size+dk*d.Dv+dv]
				}
			}
		}
	}
	return out, mean, rstd
}

func normReadCases(t *testing.T, test func(t *testing.T, d NormReadParams)) {
	for _, d := range []NormReadParams{
		{Tokens: 1, R: 1, Dk: 1, Dv: 2}, {Tokens: 1, R: 3, Dk: 5, Dv: 7}, {Tokens: 5, R: 1, Dk: 3, Dv: 1},
		{Tokens: 7, R: 11, Dk: 2, Dv: 13}, {Tokens: 3, R: 12, Dk: 32, Dv: 17}, {Tokens: 37, R: 2, Dk: 4, Dv: 3},
	} {
		for _, rms := range []bool{false, true} {
			d.RMS, d.Eps = rms, 1e-4
			t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) { test(t, d) })
		}
	}
}

// normReadData holds the inputs and outputs of one NormRead.
type normReadData[T Float] struct{ x, gain, keys, dout, out, mean, rstd []T }

func newNormReadData[T Float](d NormReadParams) normReadData[T] {
	return normReadData[T]{
		x: normals[T](1, d.Tokens*d.Dk*d.Dv, 2), gain: normals[T](2, d.Dk*d.Dv, 1), keys: normals[T](3, d.R*d.Dk, 1),
		dout: normals[T](4, d.Tokens*d.R*d.Dv, 1), out: make([]T, d.Tokens*d.R*d.Dv),
		mean: make([]T, d.Tokens), rstd: make([]T, d.Tokens),
	}
}

// gradients returns new slices for dx, dgain and dkeys.
func (s normReadData[T]) gradients() (dx, dgain, dkeys []T) {
	return make([]T, len(s.x)), make([]T, len(s.gain)), make([]T, len(s.keys))
}

func TestNormReadForward(t *testing.T) {
	normReadCases(t, func(t *testing.T, d NormReadParams) {
		testNormReadForward[float32](t, d, 5e-6)
		testNormReadForward[float64](t, d, 1e-13)
	})
}

func testNormReadForward[T Float](t *testing.T, d NormReadParams, tolerance float64) {
	s := newNormReadData[T](d)
	wantOut, wantMean, wantRstd := naiveNormRead(widen(s.x), widen(s.gain), widen(s.keys), d)
	var k NormRead[T]
	k.Forward(NewPool(2), Of(s.out), Of(s.x), s.gain, s.keys, s.mean, s.rstd, d)
	requireNear(t, wantOut, s.out, tolerance, "out")
	requireNear(t, wantMean, s.mean, tolerance, "mean")
	requireNear(t, wantRstd, s.rstd, tolerance, "rstd")
}

func TestNormReadBackwardFiniteDifferences(t *testing.T) {
	normReadCases(t, func(t *testing.T, d NormReadParams) {
		if d.Tokens*d.Dk*d.Dv > 1000 {
			return // central differences of so large a case take too long
		}
		s := newNormReadData[float64](d)
		var k NormRead[float64]
		loss := func() float64 {
			k.Forward(nil, Of(s.out), Of(s.x), s.gain, s.keys, s.mean, s.rstd, d)
			return inner(s.out, s.dout)
		}
		wantX, wantGain, wantKeys := slope(s.x, loss), slope(s.gain, loss), slope(s.keys, loss)
		loss()
		dx, dgain, dkeys := s.gradients()
		k.Backward(NewPool(3), Of(dx), Rows[float64]{}, dgain, dkeys, Of(s.dout), Of(s.x), s.gain, s.keys, s.mean, s.rstd, false, false, d)
		requireNear(t, wantX, dx, 1e-6, "dx")
		requireNear(t, wantGain, dgain, 1e-6, "dgain")
		requireNear(t, wantKeys, dkeys, 1e-6, "dkeys")
	})
}

func TestNormReadBackwardSingle(t *testing.T) {
	normReadCases(t, func(t *testing.T, d NormReadParams) {
		s, s64 := newNormReadData[float32](d), newNormReadData[float64](d)
		s64.x, s64.gain, s64.keys, s64.dout = widen(s.x), widen(s.gain), widen(s.keys), widen(s.dout)
		var k64 NormRead[float64]
		k64.Forward(nil, Of(s64.out), Of(s64.x), s64.gain, s64.keys, s64.mean, s64.rstd, d)
		wantX, wantGain, wantKeys := s64.gradients()
		k64.Backward(nil, Of(wantX), Rows[float64]{}, wantGain, wantKeys, Of(s64.dout), Of(s64.x), s64.gain, s64.keys, s64.mean, s64.rstd, false, false, d)

		var k NormRead[float32]
		p := NewPool(2)
		k.Forward(p, Of(s.out), Of(s.x), s.gain, s.keys, s.mean, s.rstd, d)
		dx, dgain, dkeys := s.gradients()
		k.Backward(p, Of(dx), Rows[float32]{}, dgain, dkeys, Of(s.dout), Of(s.x), s.gain, s.keys, s.mean, s.rstd, false, false, d)
		requireNear(t, wantX, dx, 1e-5, "dx")
		requireNear(t, wantGain, dgain, 1e-5, "dgain")
		requireNear(t, wantKeys, dkeys, 1e-5, "dkeys")
		testNormReadOptions(t, &k, p, s, d, dx, dgain, dkeys)
	})
}

// testNormReadOptions runs Backward with only one gradient wanted and with each accumulated; dx,
// dgain and dkeys are the right ones.
func testNormReadOptions(t *testing.T, k *NormRead[float32], p *Pool, s normReadData[float32], d NormReadParams, dx, dgain, dkeys []float32) {
	x, gain, keys := s.gradients()
	backward := func(dx, dgain, dkeys []float32, accumulateGain, accumulateKeys bool) {
		k.Backward(p, Of(dx), Rows[float32]{}, dgain, dkeys, Of(s.dout), Of(s.x), s.gain, s.keys, s.mean, s.rstd, accumulateGain, accumulateKeys, d)
	}
	backward(x, nil, nil, true, true)
	backward(nil, gain, nil, false, true)
	backward(nil, nil, keys, true, false)
	require.Equal(t, dx, x)
	require.Equal(t, dgain, gain)
	require.Equal(t, dkeys, keys)

	backward(x, gain, keys, true, false)
	require.Equal(t, dx, x)
	require.Equal(t, dkeys, keys)
	requireNear(t, doubled(dgain), gain, 1e-6, "accumulated dgain")
	backward(x, gain, keys, false, true)
	require.Equal(t, dgain, gain)
	requireNear(t, doubled(dkeys), keys, 1e-6, "accumulated dkeys")
}

// doubled returns 2 x.
func doubled[T Float](x []T) []float64 {
	y := widen(x)
	for i := range y {
		y[i] *= 2
	}
	return y
}

// Gradients of parameters are sums over all tokens: the error must not grow with their number.
func TestNormReadManyTokens(t *testing.T) {
	longtest.Skip(t) // 16,384 tokens
	d := NormReadParams{Tokens: 16384, R: 2, Dk: 3, Dv: 5, Eps: 1e-6}
	s, s64 := newNormReadData[float32](d), newNormReadData[float64](d)
	for i := range s.dout {
		s.dout[i] += 1 // makes sums that grow with the number of tokens
	}
	for i := range s.x {
		s.x[i] += float32(i % 15)
	}
	s64.x, s64.gain, s64.keys, s64.dout = widen(s.x), widen(s.gain), widen(s.keys), widen(s.dout)
	var k64 NormRead[float64]
	var k NormRead[float32]
	k64.Forward(nil, Of(s64.out), Of(s64.x), s64.gain, s64.keys, s64.mean, s64.rstd, d)
	k.Forward(nil, Of(s.out), Of(s.x), s.gain, s.keys, s.mean, s.rstd, d)
	_, wantGain, wantKeys := s64.gradients()
	_, dgain, dkeys := s.gradients()
	k64.Backward(nil, Rows[float64]{}, Rows[float64]{}, wantGain, wantKeys, Of(s64.dout), Of(s64.x), s64.gain, s64.keys, s64.mean, s64.rstd, false, false, d)
	k.Backward(nil, Rows[float32]{}, Rows[float32]{}, dgain, dkeys, Of(s.dout), Of(s.x), s.gain, s.keys, s.mean, s.rstd, false, false, d)
	requireNear(t, wantGain, dgain, 1e-6, "dgain")
	requireNear(t, wantKeys, dkeys, 1e-6, "dkeys")
}

func TestNormReadSameBitsForAnyThreads(t *testing.T) {
	d := NormReadParams{Tokens: 301, R: 5, Dk: 8, Dv: 12, Eps: 1e-6}
	requireSameBitsForAnyThreads(t, func(p *Pool) [][]float32 {
		s := newNormReadData[float32](d)
		dx, dgain, dkeys := s.gradients()
		var k NormRead[float32]
		k.Forward(p, Of(s.out), Of(s.x), s.gain, s.keys, s.mean, s.rstd, d)
		k.Backward(p, Of(dx), Rows[float32]{}, dgain, dkeys, Of(s.dout), Of(s.x), s.gain, s.keys, s.mean, s.rstd, false, false, d)
		return [][]float32{s.out, dx, dgain, dkeys}
	})
}

func TestNormReadWarmAllocatesNothing(t *testing.T) {
	d := NormReadParams{Tokens: 9, R: 5, Dk: 8, Dv: 12, Eps: 1e-6}
	s := newNormReadData[float32](d)
	dx, dgain, dkeys := s.gradients()
	p := NewPool(2)
	var k NormRead[float32]
	requireNoAllocations(t, func() {
		k.Forward(p, Of(s.out), Of(s.x), s.gain, s.keys, s.mean, s.rstd, d)
		k.Backward(p, Of(dx), Rows[float32]{}, dgain, dkeys, Of(s.dout), Of(s.x), s.gain, s.keys, s.mean, s.rstd, true, false, d)
	})
}

// BenchmarkNormRead measures the reads of a feed-forward block and of an attention of the two
// smaller models, with more tokens than fit into the caches, and reads of narrow models.
func BenchmarkNormRead(b *testing.B) {
	for _, d := range []NormReadParams{
		{Tokens: 4096, R: 8, Dk: 32, Dv: 32, Eps: 1e-6},
		{Tokens: 4096, R: 24, Dk: 32, Dv: 32, Eps: 1e-6},
		{Tokens: 2048, R: 36, Dk: 32, Dv: 64, Eps: 1e-6},
		{Tokens: 1024, R: 12, Dk: 32, Dv: 8, Eps: 1e-6},
		{Tokens: 1024, R: 24, Dk: 32, Dv: 15, Eps: 1e-6},
	} {
		benchmarkNormRead(b, d)
	}
}

func benchmarkNormRead(b *testing.B, d NormReadParams) {
	s := newNormReadData[float32](d)
	dx, dgain, dkeys := s.gradients()
	pool := NewPool(runtime.GOMAXPROCS(0))
	defer pool.Close()
	var k NormRead[float32]
	product := 2 * float64(d.Tokens*d.R*d.Dk*d.Dv)
	b.Run(fmt.Sprintf("forward/r=%d_dk=%d_dv=%d", d.R, d.Dk, d.Dv), func(b *testing.B) {
		for b.Loop() {
			k.Forward(pool, Of(s.out), Of(s.x), s.gain, s.keys, s.mean, s.rstd, d)
		}
		b.ReportMetric(product*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOPS")
		reportPerElement(b, len(s.x))
	})
	b.Run(fmt.Sprintf("backward/r=%d_dk=%d_dv=%d", d.R, d.Dk, d.Dv), func(b *testing.B) {
		for b.Loop() {
			k.Backward(pool, Of(dx), Of(dx), dgain, dkeys, Of(s.dout), Of(s.x), s.gain, s.keys, s.mean, s.rstd, true, true, d)
		}
		b.ReportMetric(2*product*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOPS")
		reportPerElement(b, len(s.x))
	})
}
