package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// tokenIDs returns n reproducible ids; a third of them are id 0, as frequent as some tokens are in
// a text.
func tokenIDs(n, vocab int) []int32 {
	rng := rand.New(rand.NewPCG(8, 9))
	ids := make([]int32, n)
	for t := range ids {
		if rng.IntN(3) > 0 {
			ids[t] = int32(rng.IntN(vocab))
		}
	}
	return ids
}

func TestEmbedding(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {7, 3, 5}, {40, 11, 16}, {23, 50, 37}, {64, 5, 100}} {
		for _, scale := range []float64{1, 0.5, -3.7} {
			t.Run(fmt.Sprint(size, scale), func(t *testing.T) {
				testEmbedding[float32](t, size[0], size[1], size[2], scale, 2e-6)
				testEmbedding[float64](t, size[0], size[1], size[2], scale, 1e-14)
			})
		}
	}
}

func testEmbedding[T Float](t *testing.T, tokens, vocab, width int, scale, tolerance float64) {
	ids, table, dout := tokenIDs(tokens, vocab), normals[T](1, vocab*width, 1), normals[T](2, tokens*width, 1)
	old := normals[T](3, vocab*width, 1)
	want, wantTable := make([]float64, tokens*width), make([]float64, vocab*width)
	wantSum := widen(old)
	for i, id := range ids {
		for j := range width {
			row := int(id)*width + j
			want[i*width+j] = scale * float64(table[row])
			wantTable[row] += scale * float64(dout[i*width+j])
			wantSum[row] += scale * float64(dout[i*width+j])
		}
	}
	var first []T
	for threads := 1; threads <= 3; threads++ {
		p := NewPool(threads)
		var k Embedding[T]
		out, dtable := make([]T, tokens*width), slices.Clone(old)
		require.NoError(t, k.Forward(p, out, table, ids, vocab, width, scale))
		requireNear(t, want, out, tolerance, "out")
		require.NoError(t, k.Backward(p, dtable, dout, ids, vocab, width, scale, true))
		requireNear(t, wantSum, dtable, 10*tolerance, "accumulated dtable")
		require.NoError(t, k.Backward(p, dtable, dout, ids, vocab, width, scale, false))
		requireNear(t, wantTable, dtable, 10*tolerance, "dtable")
		if first == nil {
			first = dtable
		}
		require.Equal(t, first, dtable, "the same bits for any thread count")
		p.Close()
	}
}

func TestEmbeddingRefusesIDs(t *testing.T) {
	var k Embedding[float32]
	table, out := make([]float32, 8), []float32{7, 7, 7, 7}
	for _, bad := range []int32{-1, 4, 1 << 30} {
		err := k.Forward(nil, out, table, []int32{0, bad}, 4, 2, 1)
		require.ErrorContains(t, err, fmt.Sprintf("ids[1]: want a token id in [0, 4), the vocabulary, got %d", bad))
		dtable := []float32{1, 2, 3, 4, 5, 6, 7, 8}
		require.Error(t, k.Backward(nil, dtable, out, []int32{0, bad}, 4, 2, 1, false))
		require.Equal(t, []float32{1, 2, 3, 4, 5, 6, 7, 8}, dtable, "nothing is written")
	}
	require.Equal(t, []float32{7, 7, 7, 7}, out, "nothing is written")
}

func TestEmbeddingWarmAllocatesNothing(t *testing.T) {
	ids, table, out := tokenIDs(20, 7), normals[float32](1, 7*33, 1), make([]float32, 20*33)
	p := NewPool(2)
	var k Embedding[float32]
	requireNoAllocations(t, func() {
		_ = k.Forward(p, out, table, ids, 7, 33, 2)
		_ = k.Backward(p, table, out, ids, 7, 33, 2, true)
	})
}
