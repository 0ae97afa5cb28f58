package kernel

import "github.com/pkg/errors"

// KVCache holds the keys and values of the tokens that one attention layer has seen,
// for generation token by token. All layers of a model share one position: the caller
// runs every layer's ForwardCached on the new tokens and then advances every cache.
type KVCache[T Float] struct {
	K, V     []T // [batch, kvHeads, capacity, headDim]; K is rotated already if RoPE is on
	Batch    int
	Heads    int // of keys and values
	Capacity int // positions that fit
	HeadDim  int
	Length   int // positions filled: the position of the next token
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

// Reset empties the cache and keeps its memory.
func (c *KVCache[T]) Reset() { c.Length = 0 }

// Advance counts n more tokens as seen, after ForwardCached has appended them.
func (c *KVCache[T]) Advance(n int) { c.Length += n }

// SetLength says how many tokens have been seen.
func (c *KVCache[T]) SetLength(n int) { c.Length = n }

// group returns the keys and values [capacity, headDim] of a row's head of them.
func (c *KVCache[T]) group(group int) (k, v []T) {
	size := c.Capacity * c.HeadDim
	return c.K[group*size:][:size], c.V[group*size:][:size]
}

// check says whether n more tokens of the attention d fit.
func (c *KVCache[T]) check(d *AttentionParams) error {
	if c.Batch != d.Batch || c.Heads != d.kvHeads() || c.HeadDim != d.HeadDim {
		return errors.Errorf("key-value cache: made for %d rows of %d heads of %d, asked to attend with %d rows of %d heads of %d: make a new cache",
			c.Batch, c.Heads, c.HeadDim, d.Batch, d.kvHeads(), d.HeadDim)
	}
	if c.Length+d.Seq > c.Capacity {
		return errors.Errorf("key-value cache: %d new tokens after %d do not fit into a capacity of %d: make a larger cache or Reset it",
			d.Seq, c.Length, c.Capacity)
	}
	return nil
}

// ForwardCached is Forward for d.Seq new tokens of each row at the positions
// c.Length .. c.Length+d.Seq-1: it writes their keys and values into the cache at
// those positions and out [batch*seq, heads, headDim] from qkv [batch*seq, heads + 2 kvHeads,
// headDim]. Token i of a row sees the positions from starts[i] (absolute; nil is 0) to
// its own. c.Length stays: call Advance once the step is done. An error says that the
// cache is too small or of another shape; nothing has been written then.
func (a *Attention[T]) ForwardCached(p *Pool, out, qkv []T, c *KVCache[T], starts []int32, d AttentionParams) error {
	if err := c.check(&d); err != nil {
		return err
	}
	defer a.release()
	a.d, a.starts = d, starts
	a.out, a.qkv, a.cache, a.past = out, qkv, c, c.Length
	a.forward(p)
	return nil
}
