package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// wantKeysGrad computes dkeys[i, d] = sum_t sum_v y_t[i, v] X_t[d, v].
func wantKeysGrad[T Float](s streamCase, y, x []T) sums {
	want := newSums(s.r * s.dk)
	for t := range s.tokens {
		for i := range s.r {
			for d := range s.dk {
				for v := range s.dv {
					want.add(i*s.dk+d, float64(y[(t*s.r+i)*s.dv+v])*float64(x[(t*s.dk+d)*s.dv+v]))
				}
			}
		}
	}
	return want
}

func newKeysGrad[T Float](p path) *KeysGrad[T] { return &KeysGrad[T]{WriteGrad[T]{path: p}} }

func testKeysGrad[T Float](t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	forEachPath[T](t, func(t *testing.T, p path) {
		k := newKeysGrad[T](p)
		for _, s := range streamCases {
			x, keys, y := streamOperands[T](s)
			want := wantKeysGrad(s, y, x)
			out := make([]T, len(keys))
			for i := range out {
				out[i] = T(math.NaN())
			}
			k.Run(pool, out, Of(y), Of(x), s.tokens, s.r, s.dk, s.dv, false)
			requireClose(t, s, out, want.value, want.magnitude, s.tokens*s.dv)
			copy(out, keys)
			for i, v := range keys {
				want.add(i, float64(v))
			}
			k.Run(pool, out, Of(y), Of(x), s.tokens, s.r, s.dk, s.dv, true)
			requireClose(t, s, out, want.value, want.magnitude, s.tokens*s.dv)
		}
	})
}

func TestKeysGrad(t *testing.T) {
	testKeysGrad[float32](t)
	testKeysGrad[float64](t)
}

// TestKeysGradManyTokens sums terms of the same sign, which lose most digits: over these tokens a
// single running sum would be off by about 1e-4.
func TestKeysGradManyTokens(t *testing.T) {
	s := streamCase{tokens: 16384, r: 2, dk: 3, dv: 4}
	if longtest.Enabled() {
		s.tokens = 65536
	}
	x, keys, y := streamOperands[float32](s)
	for _, v := range [][]float32{x, y} {
		for i := range v {
			v[i] = 1 + v[i]/8
		}
	}
	want := wantKeysGrad(s, y, x)
	for _, threads := range []int{1, 2} {
		pool := NewPool(threads)
		defer pool.Close()
		forEachPath[float32](t, func(t *testing.T, p path) {
			newKeysGrad[float32](p).Run(pool, keys, Of(y), Of(x), s.tokens, s.r, s.dk, s.dv, false)
			for i, v := range keys {
				require.InEpsilon(t, want.value[i], v, 2e-6)
			}
		})
	}
}

func TestKeysGradEmpty(t *testing.T) {
	k := &KeysGrad[float32]{}
	out := []float32{1, 2}
	k.Run(nil, out, Rows[float32]{}, Rows[float32]{}, 0, 1, 2, 3, true)
	assert.Equal(t, []float32{1, 2}, out)
	k.Run(nil, out, Rows[float32]{}, Rows[float32]{}, 0, 1, 2, 3, false)
	assert.Equal(t, []float32{0, 0}, out)
}

func TestKeysGradRefusesShortSlices(t *testing.T) {
	x, keys, y := make([]float32, 40), make([]float32, 15), make([]float32, 24)
	k := &KeysGrad[float32]{}
	k.Run(nil, keys, Of(y), Of(x), 2, 3, 5, 4, true)
	assert.Panics(t, func() { k.Run(nil, keys[:14:14], Of(y), Of(x), 2, 3, 5, 4, true) })
	assert.Panics(t, func() { k.Run(nil, keys, Of(y[:23:23]), Of(x), 2, 3, 5, 4, true) })
	assert.Panics(t, func() { k.Run(nil, keys, Of(y), Of(x[:39:39]), 2, 3, 5, 4, true) })
}
