package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWriteGrad: the single pass gives the same results as Read followed by KeysGrad.
func TestWriteGrad(t *testing.T) {
	for _, d := range [][4]int{{1, 1, 1, 1}, {5, 3, 7, 2}, {33, 2, 5, 16}, {70, 12, 32, 64}, {0, 2, 3, 4}} {
		for _, threads := range []int{1, 2, 3} {
			t.Run(fmt.Sprint(d, threads), func(t *testing.T) {
				testWriteGrad[float32](t, d, threads, 2e-5)
				testWriteGrad[float64](t, d, threads, 1e-13)
			})
		}
	}
}

func testWriteGrad[T Float](t *testing.T, d [4]int, threads int, tolerance float64) {
	tokens, r, dk, dv := d[0], d[1], d[2], d[3]
	draw := rand.New(rand.NewPCG(uint64(tokens), uint64(r)))
	fresh := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(draw.NormFloat64())
		}
		return x
	}
	g, keys, y := fresh(tokens*dk*dv), fresh(r*dk), fresh(tokens*r*dv)
	p := NewPool(threads)
	defer p.Close()
	for _, accumulate := range []bool{false, true} {
		start := fresh(r * dk)
		wantY, wantKeys := make([]T, tokens*r*dv), append([]T(nil), start...)
		(&Read[T]{}).Run(p, Of(wantY), keys, Of(g), tokens, r, dk, dv)
		(&KeysGrad[T]{}).Run(p, wantKeys, Of(y), Of(g), tokens, r, dk, dv, accumulate)
		gotY, gotKeys := fresh(tokens*r*dv), append([]T(nil), start...)
		k := &WriteGrad[T]{}
		k.Run(p, Of(gotY), gotKeys, Of(g), keys, Of(y), tokens, r, dk, dv, accumulate)
		require.Equal(t, wantY, gotY)
		clear(gotY)
		k.Run(p, Of(gotY), nil, Of(g), keys, Of(y), tokens, r, dk, dv, accumulate)
		require.Equal(t, wantY, gotY, "without dkeys")
		for i := range wantKeys {
			require.InDelta(t, float64(wantKeys[i]), float64(gotKeys[i]), tolerance*float64(1+tokens*dv))
		}
		if tokens > 0 {
			require.Zero(t, testing.AllocsPerRun(5, func() { k.Run(p, Of(gotY), gotKeys, Of(g), keys, Of(y), tokens, r, dk, dv, accumulate) }))
		}
	}
}
