package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// streamCase is a number of tokens and the sizes of their matrices.
type streamCase struct{ tokens, r, dk, dv int }

func (s streamCase) String() string {
	return fmt.Sprintf("tokens=%d r=%d dk=%d dv=%d", s.tokens, s.r, s.dk, s.dv)
}

var streamCases = []streamCase{
	{1, 1, 1, 1}, {2, 3, 1, 2}, {5, 12, 32, 32}, {7, 36, 32, 64}, {3, 14, 48, 64}, {4, 16, 64, 64},
	{9, 13, 31, 33}, {6, 5, 17, 7}, {11, 48, 9, 100}, {600, 4, 6, 5},
}

// streamOperands returns random operands of a case: x [tokens, dk, dv], keys [r, dk], y [tokens, r,
// dv].
func streamOperands[T Float](s streamCase) (x, keys, y []T) {
	r := rand.New(rand.NewPCG(uint64(s.tokens), uint64(s.dk*s.dv)))
	return uniformSlice[T](r, s.tokens*s.dk*s.dv), uniformSlice[T](r, s.r*s.dk), uniformSlice[T](r, s.tokens*s.r*s.dv)
}

// sums collects a result in float64, with the magnitude of its terms.
type sums struct{ value, magnitude []float64 }

func newSums(n int) sums { return sums{make([]float64, n), make([]float64, n)} }

func (s sums) add(i int, v float64) {
	s.value[i] += v
	s.magnitude[i] += math.Abs(v)
}

// wantRead computes out_t[i, v] = sum_d keys[i, d] X_t[d, v].
func wantRead[T Float](s streamCase, x, keys []T) sums {
	want := newSums(s.tokens * s.r * s.dv)
	for t := range s.tokens {
		for i := range s.r {
			for d := range s.dk {
				for v := range s.dv {
					want.add((t*s.r+i)*s.dv+v, float64(keys[i*s.dk+d])*float64(x[(t*s.dk+d)*s.dv+v]))
				}
			}
		}
	}
	return want
}

func testRead[T Float](t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	forEachPath[T](t, func(t *testing.T, p path) {
		k := &Read[T]{path: p}
		for _, s := range streamCases {
			x, keys, _ := streamOperands[T](s)
			want := wantRead(s, x, keys)
			out := make([]T, len(want.value))
			for i := range out {
				out[i] = T(math.NaN())
			}
			k.Run(pool, Of(out), keys, Of(x), s.tokens, s.r, s.dk, s.dv)
			requireClose(t, s, out, want.value, want.magnitude, s.dk)
		}
	})
}

func TestRead(t *testing.T) {
	testRead[float32](t)
	testRead[float64](t)
}

func TestReadRefusesShortSlices(t *testing.T) {
	out, keys, x := make([]float32, 24), make([]float32, 15), make([]float32, 40)
	k := &Read[float32]{}
	k.Run(nil, Of(out), keys, Of(x), 2, 3, 5, 4)
	assert.Panics(t, func() { k.Run(nil, Of(out[:23:23]), keys, Of(x), 2, 3, 5, 4) })
	assert.Panics(t, func() { k.Run(nil, Of(out), keys[:14:14], Of(x), 2, 3, 5, 4) })
	assert.Panics(t, func() { k.Run(nil, Of(out), keys, Of(x[:39:39]), 2, 3, 5, 4) })
}

func TestStreamSameBitsForAnyThreads(t *testing.T) {
	s := streamCase{tokens: 301, r: 12, dk: 32, dv: 48}
	x, keys, y := streamOperands[float32](s)
	requireSameBitsForAnyThreads(t, func(p *Pool) [][]float32 {
		read, write := make([]float32, len(y)), make([]float32, len(x))
		new(Read[float32]).Run(p, Of(read), keys, Of(x), s.tokens, s.r, s.dk, s.dv)
		new(Write[float32]).Run(p, Of(write), Of(x), keys, Of(y), s.tokens, s.r, s.dk, s.dv)
		grad, both, dy := make([]float32, len(keys)), make([]float32, len(keys)), make([]float32, len(y))
		new(KeysGrad[float32]).Run(p, grad, Of(y), Of(x), s.tokens, s.r, s.dk, s.dv, false)
		new(WriteGrad[float32]).Run(p, Of(dy), both, Of(x), keys, Of(y), s.tokens, s.r, s.dk, s.dv, false)
		require.Equal(t, grad, both)
		return [][]float32{read, write, grad, dy}
	})
}

func TestStreamAllocatesNothingWarm(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	forEachPath[float32](t, func(t *testing.T, p path) {
		s := streamCase{tokens: 40, r: 12, dk: 32, dv: 48}
		x, keys, y := streamOperands[float32](s)
		read, write, grad := &Read[float32]{path: p}, &Write[float32]{path: p}, newKeysGrad[float32](p)
		assert.Zero(t, testing.AllocsPerRun(3, func() { read.Run(pool, Of(y), keys, Of(x), s.tokens, s.r, s.dk, s.dv) }))
		assert.Zero(t, testing.AllocsPerRun(3, func() { write.Run(pool, Of(x), Of(x), keys, Of(y), s.tokens, s.r, s.dk, s.dv) }))
		assert.Zero(t, testing.AllocsPerRun(3, func() { grad.Run(pool, keys, Of(y), Of(x), s.tokens, s.r, s.dk, s.dv, true) }))
	})
}

// BenchmarkStream measures the three kernels at the sizes of the presets (r of a feed-forward, and
// three times that for queries, keys and values).
func BenchmarkStream(b *testing.B) {
	for _, s := range []streamCase{{4096, 8, 32, 32}, {4096, 12, 32, 64}, {4096, 36, 32, 64}, {4096, 16, 64, 64}, {4096, 48, 64, 64}, {1024, 4, 32, 8}, {1024, 8, 32, 15}} {
		benchmarkStream(b, s)
	}
}

func benchmarkStream(b *testing.B, s streamCase) {
	pool := NewPool(2)
	defer pool.Close()
	x, keys, y := streamOperands[float32](s)
	speed := gemmCase{m: s.tokens * s.r, n: s.dv, k: s.dk}
	b.Run(fmt.Sprintf("read/%v", s), func(b *testing.B) {
		k := &Read[float32]{}
		for b.Loop() {
			k.Run(pool, Of(y), keys, Of(x), s.tokens, s.r, s.dk, s.dv)
		}
		reportSpeed(b, speed)
	})
	b.Run(fmt.Sprintf("write/%v", s), func(b *testing.B) {
		k, out := &Write[float32]{}, make([]float32, len(x))
		for b.Loop() {
			k.Run(pool, Of(out), Of(x), keys, Of(y), s.tokens, s.r, s.dk, s.dv)
		}
		reportSpeed(b, speed)
	})
	b.Run(fmt.Sprintf("keysgrad/%v", s), func(b *testing.B) {
		k := &KeysGrad[float32]{}
		for b.Loop() {
			k.Run(pool, keys, Of(y), Of(x), s.tokens, s.r, s.dk, s.dv, false)
		}
		reportSpeed(b, speed)
	})
	b.Run(fmt.Sprintf("writegrad/%v", s), func(b *testing.B) {
		k, dy, dkeys := &WriteGrad[float32]{}, make([]float32, len(y)), make([]float32, len(keys))
		for b.Loop() {
			k.Run(pool, Of(dy), dkeys, Of(x), keys, Of(y), s.tokens, s.r, s.dk, s.dv, false)
		}
		reportSpeed(b, gemmCase{m: speed.m, n: speed.n, k: 2 * speed.k})
	})
}
