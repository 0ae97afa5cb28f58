package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// cachedGraph is attention over looked-up tokens [rows, seq].
func cachedGraph(rows, seq int) BuildFunc {
	return func(b *Builder) (Roots, error) {
		tokens := b.Input("tokens", tensor.Int32, rows, seq)
		starts := b.DocumentStarts(tokens, 2)
		qkv := b.Embedding(b.Param(ParamSpec{Name: "e", Shape: []int{5, 3, 1, 2}, Init: Normal(1)}), tokens, 1)
		o := AttentionOptions{Heads: 1, Seq: seq, Scale: 1, Starts: starts}
		return Roots{Outputs: gorgonia.Nodes{b.CausalAttention(qkv, o)}}, nil
	}
}

// TestCacheErrors checks what a program with a cache refuses.
func TestCacheErrors(t *testing.T) {
	newCache := func() *Cache {
		c, err := NewCache(2, 3)
		require.NoError(t, err)
		return c
	}
	compile := func(c *Cache, build BuildFunc) (*Program, error) {
		return Compile(ProgramOptions{Options: Options{Threads: 1, Cache: c}}, build)
	}
	cache := newCache()
	require.Equal(t, 3, cache.Capacity())
	p, err := compile(cache, cachedGraph(2, 1))
	require.NoError(t, err)
	defer p.Close()
	require.Same(t, cache, p.Builder().Cache())
	_, err = compile(cache, cachedGraph(2, 1))
	requireLine(t, err, "want one that no other program uses")
	_, err = compile(newCache(), cachedGraph(3, 1))
	requireLine(t, err, "want 2 rows as the cache has, got 3")
	_, err = compile(newCache(), func(b *Builder) (Roots, error) {
		qkv := b.Input("qkv", tensor.Float32, 2, 6)
		return Roots{Outputs: gorgonia.Nodes{b.CausalAttention(qkv, AttentionOptions{Heads: 1, Seq: 1, Scale: 1})}}, nil
	})
	requireLine(t, err, "want an input of tokens")
	_, err = compile(newCache(), func(b *Builder) (Roots, error) {
		return Roots{Outputs: gorgonia.Nodes{b.CausalAttention(b.Input("qkv", tensor.Float32, 2, 2), AttentionOptions{Heads: 1, Seq: 1})}}, nil
	})
	requireLine(t, err, "CausalAttention")
}

// TestCacheLength checks that the cache counts what runs, refuses what does not fit, and
// stands still where a run fails.
func TestCacheLength(t *testing.T) {
	cache, err := NewCache(2, 3)
	require.NoError(t, err)
	p, err := Compile(ProgramOptions{Options: Options{Threads: 1, Cache: cache}}, cachedGraph(2, 1))
	require.NoError(t, err)
	defer p.Close()
	for range 2 {
		for i := range 3 {
			require.Equal(t, i, cache.Len())
			before := append([]cacheRow(nil), cache.now...)
			p.Ints("tokens")[0], p.Ints("tokens")[1] = 2, 9
			requireLine(t, p.Run(RunOptions{}), "got 9")
			require.Equal(t, i, cache.Len())
			require.Equal(t, before, cache.now)
			p.Ints("tokens")[0], p.Ints("tokens")[1] = int32(i), 1
			require.NoError(t, p.Run(RunOptions{}))
		}
		require.Equal(t, []cacheRow{{start: 2, previous: 2}, {start: 0, previous: 1}}, cache.now)
		requireLine(t, p.Run(RunOptions{}), "want room for 1 more tokens after 3, got a capacity of 3")
		cache.Reset()
	}
}
