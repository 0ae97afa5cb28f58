package kernel

import "github.com/pkg/errors"

// CachedRow says what a row of a run stands for in the caches of all layers. On a device it is the
// same four numbers.
type CachedRow struct {
	Row    int32 // of the caches
	Past   int32 // tokens that it has had: the position of its first new one
	Tokens int32 // how many of the run's are new; those after them count for nothing
	Turn   int32 // 0 or 1, the other one after each run that succeeded; CarriedRows says what for
}

// KVCache holds the keys and values of the tokens that one attention layer has seen, for
// generation. How many of a row's positions are filled the caller knows, who says it in each run.
type KVCache[T Float] struct {
	K, V     []T // [batch, kvHeads, capacity, headDim]; K is rotated already if RoPE is on
	Batch    int
	Heads    int // of keys and values
	Capacity int // positions that fit
	HeadDim  int
}

// NewKVCache returns an empty cache. Every size must be at least 1.
func NewKVCache[T Float](batch, heads, capacity, headDim int) (*KVCache[T], error) {
	if min(batch, heads, capacity, headDim) < 1 {
		return nil, errors.Errorf("key-value cache: want batch, heads, capacity and head dimension >= 1, got %d, %d, %d and %d",
			batch, heads, capacity, headDim)
	}
	size := batch * heads * capacity * headDim
	return &KVCache[T]{K: make([]T, size), V: make([]T, size), Batch: batch, Heads: heads, Capacity: capacity, HeadDim: headDim}, nil
}

// head returns the keys and values [capacity, headDim] of a row's head of them.
func (c *KVCache[T]) head(row, head int) (k, v []T) {
	size := c.Capacity * c.HeadDim
	at := (row*c.Heads + head) * size
	return c.K[at:][:size], c.V[at:][:size]
}

// check says whether the new tokens of the attention d fit.
func (c *KVCache[T]) check(d *AttentionParams, rows []CachedRow) error {
	if c.Heads != d.kvHeads() || c.HeadDim != d.HeadDim || len(rows) != d.Batch {
		return errors.Errorf("key-value cache: made for %d heads of %d, asked to attend with %d heads of %d, and to %d rows as %d of its own: make a new cache",
			c.Heads, c.HeadDim, d.kvHeads(), d.HeadDim, d.Batch, len(rows))
	}
	for _, r := range rows {
		if r.Row < 0 || int(r.Row) >= c.Batch || r.Past < 0 || r.Tokens < 0 || int(r.Tokens) > d.Seq {
			return errors.Errorf("key-value cache: want one of %d rows and at most %d new tokens, got row %d with %d", c.Batch, d.Seq, r.Row, r.Tokens)
		}
		if int(r.Past+r.Tokens) > c.Capacity {
			return errors.Errorf("key-value cache: %d new tokens after %d do not fit into a capacity of %d: make a larger cache or Reset it",
				r.Tokens, r.Past, c.Capacity)
		}
	}
	return nil
}

// ForwardCached is Forward for new tokens of each row, which stands for a row of the cache: token i
// is at the position Past+i. It writes their keys and values into the cache at those positions and
// out [batch*seq, heads, headDim] from qkv [batch*seq, heads + 2 kvHeads, headDim], 0 for tokens that
// count for nothing. Token i of a row sees the positions from starts[i] (absolute; nil is 0) to
// its own. No two rows with new tokens may stand for the same one. An error says that the
// cache is too small or of another shape; nothing has been written then.
func (a *Attention[T]) ForwardCached(p *Pool, out, qkv []T, c *KVCache[T], rows []CachedRow, starts []int32, d AttentionParams) error {
	if err := c.check(&d, rows); err != nil {
		return err
	}
	defer a.release()
	a.d, a.starts = d, starts
	a.out, a.qkv, a.cache, a.cached = out, qkv, c, rows
	a.forward(p)
	return nil
}
