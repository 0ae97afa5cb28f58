package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wantWrite computes out_t[d, v] = X_t[d, v] + sum_i keys[i, d] y_t[i, v]; x may be nil.
func wantWrite[T Float](s streamCase, x, keys, y []T) sums {
	want := newSums(s.tokens * s.dk * s.dv)
	for i, v := range x {
		want.add(i, float64(v))
	}
	for t := range s.tokens {
		for i := range s.r {
			for d := range s.dk {
				for v := range s.dv {
					want.add((t*s.dk+d)*s.dv+v, float64(keys[i*s.dk+d])*float64(y[(t*s.r+i)*s.dv+v]))
				}
			}
		}
	}
	return want
}

func testWrite[T Float](t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	forEachPath[T](t, func(t *testing.T, p path) {
		k := &Write[T]{path: p}
		for _, s := range streamCases {
			x, keys, y := streamOperands[T](s)
			before := append([]T(nil), x...)
			want := wantWrite(s, x, keys, y)
			out := make([]T, len(x))
			k.Run(pool, Of(out), Of(x), keys, Of(y), s.tokens, s.r, s.dk, s.dv)
			requireClose(t, s, out, want.value, want.magnitude, s.r)
			require.Equal(t, before, x, "x must not change")
			k.Run(pool, Of(x), Of(x), keys, Of(y), s.tokens, s.r, s.dk, s.dv)
			require.Equal(t, out, x, "in place")
			want = wantWrite(s, nil, keys, y)
			k.Run(pool, Of(out), Rows[T]{}, keys, Of(y), s.tokens, s.r, s.dk, s.dv)
			requireClose(t, s, out, want.value, want.magnitude, s.r)
		}
	})
}

func TestWrite(t *testing.T) {
	testWrite[float32](t)
	testWrite[float64](t)
}

func TestWriteRefusesShortSlices(t *testing.T) {
	x, keys, y := make([]float32, 40), make([]float32, 15), make([]float32, 24)
	k := &Write[float32]{}
	k.Run(nil, Of(x), Of(x), keys, Of(y), 2, 3, 5, 4)
	assert.Panics(t, func() { k.Run(nil, Of(x[:39:39]), Of(x), keys, Of(y), 2, 3, 5, 4) })
	assert.Panics(t, func() { k.Run(nil, Of(x), Of(x[:39:39]), keys, Of(y), 2, 3, 5, 4) })
	assert.Panics(t, func() { k.Run(nil, Of(x), Of(x), keys[:14:14], Of(y), 2, 3, 5, 4) })
	assert.Panics(t, func() { k.Run(nil, Of(x), Of(x), keys, Of(y[:23:23]), 2, 3, 5, 4) })
}
