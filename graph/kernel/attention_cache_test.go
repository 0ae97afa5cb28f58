package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// feed runs a case through a cache, chunk by chunk, and returns all outputs
// [batch*seq, heads, headDim].
func feed[T Float](t *testing.T, p *Pool, c attentionCase, cache *KVCache[T], qkv []T, chunks []int) []T {
	t.Helper()
	var a Attention[T]
	width := c.width()
	all := make([]T, c.Batch*c.Seq*width)
	first := 0
	for _, n := range chunks {
		d := c.AttentionParams
		d.Seq = n
		var in []T
		var starts []int32
		for row := range c.Batch {
			at := row*c.Seq + first
			in = append(in, qkv[at*c.packedWidth():(at+n)*c.packedWidth()]...)
			if c.starts != nil {
				starts = append(starts, c.starts[at:at+n]...)
			}
		}
		out := fullOfNaN[T](c.Batch * n * width)
		require.NoError(t, a.ForwardCached(p, out, in, cache, starts, d))
		require.Equal(t, first, cache.Length)
		for row := range c.Batch {
			copy(all[(row*c.Seq+first)*width:], out[row*n*width:(row+1)*n*width])
		}
		cache.Advance(n)
		first += n
	}
	require.Equal(t, c.Seq, first)
	return all
}

// splits returns ways to cut a sequence: token by token, whole, and in uneven chunks.
func splits(seq int) [][]int {
	var single, uneven []int
	for range seq {
		single = append(single, 1)
	}
	for left, n := seq, 1; left > 0; left, n = left-n, n*3%71+1 {
		n = min(n, left)
		uneven = append(uneven, n)
		if n == left {
			break
		}
	}
	return [][]int{single, {seq}, uneven}
}

func TestForwardCachedEqualsForward(t *testing.T) {
	for _, c := range attentionCases() {
		t.Run(c.String(), func(t *testing.T) {
			qkv := c.randomQKV(1)
			want := c.reference(qkv, nil).out
			for _, threads := range []int{1, 2, 4} {
				p := NewPool(threads)
				defer p.Close()
				double, err := NewKVCache[float64](c.Batch, c.kvHeads(), c.Seq+2, c.HeadDim)
				require.NoError(t, err)
				single, err := NewKVCache[float32](c.Batch, c.kvHeads(), c.Seq, c.HeadDim)
				require.NoError(t, err)
				for _, chunks := range splits(c.Seq) {
					double.Reset()
					single.Reset()
					require.Less(t, worstError(feed(t, p, c, double, qkv, chunks), want), 1e-12)
					require.Less(t, worstError(feed(t, p, c, single, castTo[float32](qkv), chunks), want), 2e-6)
				}
			}
		})
	}
}

func TestForwardCachedRefusesWhatDoesNotFit(t *testing.T) {
	c := newAttentionCase(1, 3, 2, 4, false, 0, false)
	cache, err := NewKVCache[float64](1, 2, 5, 4)
	require.NoError(t, err)
	var a Attention[float64]
	out, qkv := make([]float64, c.Seq*c.width()), c.randomQKV(1)
	require.NoError(t, a.ForwardCached(nil, out, qkv, cache, nil, c.AttentionParams))
	cache.Advance(3)
	k, v, old := append([]float64(nil), cache.K...), append([]float64(nil), cache.V...), append([]float64(nil), out...)

	err = a.ForwardCached(nil, out, c.randomQKV(2), cache, nil, c.AttentionParams)
	require.ErrorContains(t, err, "3 new tokens after 3 do not fit into a capacity of 5")
	wrong := c.AttentionParams
	wrong.Heads, wrong.HeadDim = 4, 2
	err = a.ForwardCached(nil, out, c.randomQKV(2), cache, nil, wrong)
	require.ErrorContains(t, err, "made for 1 rows of 2 heads of 4")
	require.Equal(t, k, cache.K)
	require.Equal(t, v, cache.V)
	require.Equal(t, old, out)
	require.Equal(t, 3, cache.Length)
}

func TestNewKVCacheRefusesEmptySizes(t *testing.T) {
	_, err := NewKVCache[float32](1, 0, 8, 4)
	require.ErrorContains(t, err, "got 1, 0, 8 and 4")
}
