package kernel

// CachedRow says which row of all layers' caches a row of a run extends. A device stores the same
// four numbers.
type CachedRow struct {
	Row    int32 // row of the caches
	Past   int32 // number of tokens already in the cache: the position of the row's first new token
	Tokens int32 // number of new tokens in the run; the rest is padding
	Turn   int32 // 0 or 1, changing after each run that succeeds; see CarriedRows
}

// KVCache holds the keys and values of the tokens that one attention layer has seen, for
// generation. The caller knows how many positions of a row are filled, and passes that number in
// each run.
type KVCache[T Float] struct {
	K, V     []T // [batch, kvHeads, capacity, headDim]; with RoPE, K is stored rotated
	Heads    int // heads of keys and values
	Capacity int // number of positions in a row
	HeadDim  int
}

// NewKVCache returns an empty cache.
func NewKVCache[T Float](batch, heads, capacity, headDim int) *KVCache[T] {
	size := batch * heads * capacity * headDim
	return &KVCache[T]{K: make([]T, size), V: make([]T, size), Heads: heads, Capacity: capacity, HeadDim: headDim}
}

// head returns the keys and values [capacity, headDim] of one head of a row.
func (c *KVCache[T]) head(row, head int) (k, v []T) {
	size := c.Capacity * c.HeadDim
	at := (row*c.Heads + head) * size
	return c.K[at:][:size], c.V[at:][:size]
}

// ForwardCached computes Forward for new tokens of each row, which extend a row of the cache: token
// i is at position Past+i. It writes their keys and values into the cache at those positions, and
// computes out [batch*seq, heads, headDim] from qkv [batch*seq, heads + 2 kvHeads, headDim]; for
// padding tokens, out is 0. Token i of a row sees the positions from starts[i] (absolute; nil is 0)
// to its own. No two rows with new tokens may extend the same row of the cache, and all new tokens
// must fit.
func (a *Attention[T]) ForwardCached(p *Pool, out, qkv []T, c *KVCache[T], rows []CachedRow, starts []int32, d AttentionParams) {
	defer a.release()
	a.d, a.starts = d, starts
	a.out, a.qkv, a.cache, a.cached = Of(out), Of(qkv), c, rows
	a.forward(p)
}
