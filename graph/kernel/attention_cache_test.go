package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// feed runs a case through a cache, chunk by chunk, and returns all outputs [batch*seq, heads,
// headDim].
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
		a.ForwardCached(p, out, in, cache, cachedRows(c.Batch, first, n), starts, d)
		for row := range c.Batch {
			copy(all[(row*c.Seq+first)*width:], out[row*n*width:(row+1)*n*width])
		}
		first += n
	}
	require.Equal(t, c.Seq, first)
	return all
}

// cachedRows returns rows of equal length, each with n new tokens.
func cachedRows(batch, past, n int) []CachedRow {
	rows := make([]CachedRow, batch)
	for i := range rows {
		rows[i] = CachedRow{Row: int32(i), Past: int32(past), Tokens: int32(n)}
	}
	return rows
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
				double := NewKVCache[float64](c.Batch, c.kvHeads(), c.Seq+2, c.HeadDim)
				single := NewKVCache[float32](c.Batch, c.kvHeads(), c.Seq, c.HeadDim)
				for _, chunks := range splits(c.Seq) {
					require.Less(t, worstError(feed(t, p, c, double, qkv, chunks), want), 1e-12)
					require.Less(t, worstError(feed(t, p, c, single, castTo[float32](qkv), chunks), want), 2e-6)
				}
			}
		})
	}
}

// TestForwardCachedInRowsOfDifferentLength: rows extend rows of a larger cache, in any order, and
// have padding at their ends, which changes nothing and gives zeros.
func TestForwardCachedInRowsOfDifferentLength(t *testing.T) {
	for _, c := range attentionCases() {
		if c.Batch > 3 {
			continue
		}
		qkv := c.randomQKV(1)
		want := c.reference(qkv, nil).out
		for _, threads := range []int{1, 3} {
			p := NewPool(threads)
			defer p.Close()
			cache := NewKVCache[float64](c.Batch+2, c.kvHeads(), c.Seq, c.HeadDim)
			var a Attention[float64]
			past := make([]int, c.Batch)
			for step := 0; ; step++ {
				d := c.AttentionParams
				d.Seq = []int{1, 100, 7}[step%3]
				rows, in, starts, left := make([]CachedRow, c.Batch), fullOfNaN[float64](c.Batch*d.Seq*c.packedWidth()), []int32(nil), 0
				for i := range rows {
					row := (i + step) % c.Batch // row of the case
					n := min(d.Seq, c.Seq-past[row], (step*5+row*3)%40)
					rows[i] = CachedRow{Row: int32(row + 2), Past: int32(past[row]), Tokens: int32(n)}
					at := row*c.Seq + past[row]
					copy(in[i*d.Seq*c.packedWidth():], qkv[at*c.packedWidth():][:n*c.packedWidth()])
					if c.starts != nil {
						starts = append(starts, append(append([]int32(nil), c.starts[at:at+n]...), make([]int32, d.Seq-n)...)...)
					}
					left += c.Seq - past[row]
				}
				if left == 0 {
					break
				}
				out := fullOfNaN[float64](c.Batch * d.Seq * c.width())
				a.ForwardCached(p, out, in, cache, rows, starts, d)
				for i, r := range rows {
					row, n := int(r.Row)-2, int(r.Tokens)
					got := out[i*d.Seq*c.width():][:d.Seq*c.width()]
					require.Less(t, worstError(got[:n*c.width()], want[(row*c.Seq+past[row])*c.width():][:n*c.width()]), 1e-12, "%s: row %d, step %d", c, row, step)
					require.Equal(t, make([]float64, len(got)-n*c.width()), got[n*c.width():], "%s: tokens that count for nothing", c)
					past[row] += n
				}
			}
		}
	}
}
