package attention

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

const (
	// decodeTokens is the largest number of tokens per row of a run for which each query has its
	// own blocks. With more tokens, blocks of queries share the keys that they read.
	decodeTokens = 8
	// decodeBlocks is the number of blocks among which decoding is split if there are many keys:
	// two for each multiprocessor of an H100.
	decodeBlocks = 264
	// decodeKeys is the smallest number of keys that are worth a separate block.
	decodeKeys = 256
)

// deviceCache is one attention's part of a Cache on a device.
type deviceCache struct {
	keys, values cuda.Array // [cached rows, kvHeads, capacity, padded]; keys are stored rotated
	rows         cuda.Array // the rows of the run, [batch] of kernel.CachedRow
	longest      int        // largest number of positions of a row after the run
	capacity     int
}

// cacheOnDevice returns the memory of an attention's part, which the first run allocates.
func cacheOnDevice(m *graph.CacheLayer, a *deviceAttention) deviceCache {
	kv := graph.KV[float32](m)
	size := m.Batch() * a.KVHeads * kv.Capacity * a.padded
	both := a.Cached(m, a.number, 2*size)
	cache := deviceCache{keys: both.Slice(0, size), values: both.Slice(size, size), capacity: kv.Capacity}
	for _, r := range m.Running() {
		cache.longest = max(cache.longest, int(r.Past+r.Tokens))
	}
	cache.rows = a.CachedRows(m)
	return cache
}

// cached adds the new tokens' keys and values to the cache and attends over it.
func (a *deviceAttention) cached(m *graph.CacheLayer, out, qkv cuda.Array) {
	cache := cacheOnDevice(m, a)
	n := a.Batch * a.Seq * a.KVHeads * a.padded / 4
	a.Launch("attention_append"+qkv.Suffix(), cuda.Over(n, 256),
		cache.keys, cache.values, qkv, a.angles, cuda.Long(n),
		cuda.Ints(a.Seq, a.Heads, a.KVHeads, a.padded), cache.rows, cuda.Int(cache.capacity))
	if a.Seq > decodeTokens {
		a.forward(out, cuda.Array{}, qkv, cache)
		return
	}
	a.decode(out, qkv, cache)
}

// cacheArgs returns the kernel arguments that follow qkv: the cache and others.
func (a *deviceAttention) cacheArgs(cache deviceCache) cuda.Args {
	return cuda.Args{
		cache.keys, cache.values, a.starts, a.slopes, a.angles,
		cuda.Float(a.Scale), cuda.Ints(a.Seq, a.Heads, a.KVHeads, a.padded), cache.rows, cuda.Int(cache.capacity),
	}
}

// decode attends with one block for each query. If that would leave much of the GPU idle, several
// blocks share a query, and their parts are added in order.
func (a *deviceAttention) decode(out, qkv cuda.Array, cache deviceCache) {
	queries := a.pairs() * a.Seq
	splits := max(1, min(cuda.CeilDiv(decodeBlocks, queries), cuda.CeilDiv(cache.longest, decodeKeys)))
	var parts cuda.Array // [queries, splits, 2+padded]
	if splits > 1 {
		parts = a.Scratch(cuda.F32, queries*splits*(2+a.padded))
	}
	tile := a.tile([]attentionTile{{dim: 64}, {dim: 128}, {dim: 256}})
	a.Launch(tile.name("attention_decode")+out.Suffix(), cuda.Grid{X: queries, Y: splits, Threads: attentionThreads},
		out, parts, qkv, a.cacheArgs(cache))
	if splits > 1 {
		a.Launch("attention_combine"+out.Suffix(), cuda.Grid{X: queries, Threads: attentionThreads},
			out, parts, cuda.Ints(splits, a.padded))
	}
}
