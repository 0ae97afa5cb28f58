package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// attentionTileCases returns cases whose heads fill tiles: below, at and beyond a block of queries
// and a chunk of keys, with documents, windows, shared keys and rotary positions.
func attentionTileCases() []attentionCase {
	cases := []attentionCase{
		newAttentionCase(1, 1, 1, 32, false, 0, false),
		newAttentionCase(2, 7, 3, 32, true, 0, false), newAttentionCase(2, 101, 3, 48, true, 100, true), newAttentionCase(1, 600, 1, 16, true, 0, false),
		newAttentionCase(1, 96, 1, 64, false, 10000, false),
		newAttentionCase(1, 131, 2, 32, true, 0, true),
		newAttentionCase(3, 197, 1, 96, false, 100, true),
		newAttentionCase(1, attentionKeys+attentionTileQueries+5, 1, 32, true, 0, false),
		newAttentionCase(1, 2*attentionKeys+7, 1, 32, false, 0, true),
		grouped(1, 197, 4, 2, 32, true, 500, true), grouped(1, 70, 6, 1, 32, false, 0, false),
		newAttentionCase(1, 150, 2, 32, true, 0, false).sliding(1, 0), newAttentionCase(1, 400, 1, 32, true, 100, false).sliding(100, 0),
		newAttentionCase(1, 700, 1, 32, false, 0, true).sliding(17, 0), grouped(1, 211, 4, 2, 64, false, 100, true).sliding(25, 0),
	}
	for i := range cases[8].starts { // documents across chunks
		cases[8].starts[i] = int32(i / 401 * 401)
	}
	late := newAttentionCase(1, 150, 2, 32, false, 0, true)
	for i := range late.starts { // starts beyond the token itself, negative or decreasing
		late.starts[i] = int32(i + 3 - 40*(i%5))
	}
	return append(cases, late, late.sliding(20, 0))
}

// tileAttention holds what a run in bfloat16 wrote.
type tileAttention struct {
	out, dqkv []BFloat16
	lse       []float32
}

// runTileAttention runs Forward and Backward on a path with tensors of bfloat16.
func runTileAttention(t *testing.T, on path, threads int, c attentionCase, qkv, dout []BFloat16) tileAttention {
	p := NewPool(threads)
	defer p.Close()
	a := Attention[float32]{path: on}
	r := tileAttention{out: make([]BFloat16, len(dout)), dqkv: make([]BFloat16, len(qkv)), lse: fullOfNaN[float32](c.Batch * c.Heads * c.Seq)}
	for range 2 { // the second run meets what the first has left in scratch memory
		a.Forward(p, OfBFloat16[float32](r.out), r.lse, OfBFloat16[float32](qkv), c.starts, c.AttentionParams)
		require.NotNil(t, a.tiles)
		a.Backward(p, OfBFloat16[float32](r.dqkv), OfBFloat16[float32](qkv), OfBFloat16[float32](r.out), OfBFloat16[float32](dout), r.lse, c.starts, c.AttentionParams)
	}
	return r
}

// TestAttentionTiles compares attention by tiles with the float64 reference, within the roundings
// of P and dS to bfloat16; and, for any number of threads, with the portable form to the bit.
func TestAttentionTiles(t *testing.T) {
	for _, c := range attentionTileCases() {
		t.Run(c.String(), func(t *testing.T) {
			qkv, dout := c.randomQKV(1), c.randomOut(2)
			x, dy := make([]BFloat16, len(qkv)), make([]BFloat16, len(dout))
			RoundBFloat16(x, castTo[float32](qkv))
			RoundBFloat16(dy, castTo[float32](dout))
			for i, v := range x {
				qkv[i] = float64(v.Float32())
			}
			for i, v := range dy {
				dout[i] = float64(v.Float32())
			}
			lse := 2e-6
			if c.RopeBase != 0 {
				lse = 0.02 // rotated queries and keys are rounded
			}
			want, got := c.reference(qkv, dout), runTileAttention(t, amx, 1, c, x, dy)
			assert.Less(t, relativeDifference(got.out, want.out), 0.004, "out")
			assert.Less(t, worstError(got.lse, want.lse), lse, "lse")
			assert.Less(t, relativeDifference(got.dqkv, want.dqkv), 0.01, "dqkv")
			require.Equal(t, got, runTileAttention(t, amx, 3, c, x, dy), "3 threads")
			if longtest.Exhaustive() {
				require.Equal(t, got, runTileAttention(t, amx, 2, c, x, dy), "2 threads")
			}
			if machinePairs == amx { // otherwise that is what has run
				require.Equal(t, got, runTileAttention(t, amxPortable, 1, c, x, dy), "portable")
			}
		})
	}
}

// relativeDifference returns the norm of a difference over that of want.
func relativeDifference(got []BFloat16, want []float64) float64 {
	var difference, norm float64
	for i, w := range want {
		d := float64(got[i].Float32()) - w
		difference, norm = difference+d*d, norm+w*w
	}
	return math.Sqrt(difference / norm)
}
