package kernel

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
	Heads    int // of keys and values
	Capacity int // positions that fit
	HeadDim  int
}

// NewKVCache returns an empty cache.
func NewKVCache[T Float](batch, heads, capacity, headDim int) *KVCache[T] {
	size := batch * heads * capacity * headDim
	return &KVCache[T]{K: make([]T, size), V: make([]T, size), Heads: heads, Capacity: capacity, HeadDim: headDim}
}

// head returns the keys and values [capacity, headDim] of a row's head of them.
func (c *KVCache[T]) head(row, head int) (k, v []T) {
	size := c.Capacity * c.HeadDim
	at := (row*c.Heads + head) * size
	return c.K[at:][:size], c.V[at:][:size]
}

// ForwardCached is Forward for new tokens of each row, which stands for a row of the cache: token i
// is at the position Past+i. It writes their keys and values into the cache at those positions and
// out [batch*seq, heads, headDim] from qkv [batch*seq, heads + 2 kvHeads, headDim], 0 for tokens that
// count for nothing. Token i of a row sees the positions from starts[i] (absolute; nil is 0) to
// its own. No two rows with new tokens may stand for the same one, and all new tokens must fit.
func (a *Attention[T]) ForwardCached(p *Pool, out, qkv []T, c *KVCache[T], rows []CachedRow, starts []int32, d AttentionParams) {
	defer a.release()
	a.d, a.starts = d, starts
	a.out, a.qkv, a.cache, a.cached = Of(out), Of(qkv), c, rows
	a.forward(p)
}
