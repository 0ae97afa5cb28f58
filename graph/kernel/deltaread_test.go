package kernel

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestDeltaReadInPlace: gradients of a convolution have the same bits where dX takes the place of
// du, for blocks of narrow tokens, parts of wide ones, documents, and filters longer than a piece.
func TestDeltaReadInPlace(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		rng := rand.New(rand.NewSource(1))
		for _, d := range []DeltaReadParams{
			{Tokens: 200, Seq: 100, N: 1, D: 7, Taps: 4},
			{Tokens: 200, Seq: 100, N: 1, D: 70, Taps: 3},
			{Tokens: 160, Seq: 80, N: 1, D: 40, Taps: 4, First: 20, Width: 75},
			{Tokens: 160, Seq: 80, N: 1, D: 9, Taps: 36},
			{Tokens: 70, Seq: 70, N: 1, D: 20, Taps: 32},
			{Tokens: 40, Seq: 1, N: 1, D: 8, Taps: 2},
		} {
			d.LastLag, d.Residual = d.Taps-1, true
			_, _, width := d.Pitches()
			for _, starts := range [][]int32{nil, documents(d)} {
				for _, threads := range []int{1, 3} {
					x, du, filter, addend := floats32(rng, d.Tokens*width), floats32(rng, d.Tokens*width), floats32(rng, d.filter()), floats32(rng, d.Tokens*width)
					if d.Width > 0 {
						addend = nil
					}
					gradients := func(dx, du []float32) (df []float32) {
						k, df := DeltaRead[float32]{path: p}, make([]float32, d.filter())
						pool := NewPool(threads)
						defer pool.Close()
						k.Backward(pool, DeltaReadGrads[float32]{X: dx, Addend: addend, Filter: df}, du, x, filter, nil, starts, d)
						return df
					}
					want, got := make([]float32, len(du)), slices.Clone(du)
					wantFilter := gradients(want, du)
					gotFilter := gradients(got, got)
					name := fmt.Sprintf("%+v, %d threads, documents %t", d, threads, starts != nil)
					assert.True(t, slices.Equal(want, got), name)
					assert.True(t, slices.Equal(wantFilter, gotFilter), name)
				}
			}
		}
	})
}

// documents returns starts of documents of 11 tokens.
func documents(d DeltaReadParams) []int32 {
	starts := make([]int32, d.Tokens)
	for i := range starts {
		starts[i] = int32(i % d.Seq / 11 * 11)
	}
	return starts
}
