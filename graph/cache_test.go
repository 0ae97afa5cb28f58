package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/attention"
	"github.com/residua-go/residua/graph/ops/embedding"
	"github.com/residua-go/residua/graph/optest"
)

// cachedGraph is attention over looked-up tokens [rows, seq].
func cachedGraph(rows, seq int) graph.BuildFunc { return cachedGraphOf(rows, seq, 2, 1) }

// cachedGraphOf has the given number of attentions, each with one head of dim entries.
func cachedGraphOf(rows, seq, dim, attentions int) graph.BuildFunc {
	return func(b *graph.Builder) (graph.Roots, error) {
		tokens := b.Input("tokens", tensor.Int32, rows, seq)
		starts := attention.DocumentStarts(b, tokens, 2, 0)
		qkv := embedding.Gather(b, b.Param(graph.ParamSpec{Name: "e", Shape: []int{5, 3, 1, dim}, Init: graph.Normal(1)}), tokens, 1)
		o := attention.Options{Heads: 1, Seq: seq, Scale: 1, Starts: starts}
		var roots graph.Roots
		for range attentions {
			roots.Outputs = append(roots.Outputs, attention.Causal(b, qkv, o))
		}
		return roots, nil
	}
}

// TestCacheErrors checks what a program with a cache refuses.
func TestCacheErrors(t *testing.T) {
	newCache := func() *graph.Cache {
		c, err := graph.NewCache(2, 3)
		require.NoError(t, err)
		return c
	}
	compile := func(c *graph.Cache, build graph.BuildFunc) (*graph.Program, error) {
		return graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1, Cache: c}}, build)
	}
	cache := newCache()
	require.Equal(t, 3, cache.Capacity())
	p, err := compile(cache, cachedGraph(2, 1))
	require.NoError(t, err)
	defer p.Close()
	require.Same(t, cache, p.Builder().Cache())
	second, err := compile(cache, cachedGraph(1, 2))
	require.NoError(t, err)
	second.Close()
	_, err = compile(cache, cachedGraphOf(2, 1, 3, 1))
	optest.RequireLine(t, err, "want float32 keys and values of 1 heads of 2 on the cpu, as in the programs before, got float32 keys and values of 1 heads of 3")
	_, err = compile(cache, cachedGraphOf(2, 1, 2, 2))
	optest.RequireLine(t, err, "want the 1 parts of the programs before, got more")
	_, err = compile(newCache(), cachedGraph(3, 1))
	optest.RequireLine(t, err, "want at most the 2 rows that the cache has, got 3")
	_, err = compile(newCache(), func(b *graph.Builder) (graph.Roots, error) {
		qkv := b.Input("qkv", tensor.Float32, 2, 6)
		return graph.Roots{Outputs: gorgonia.Nodes{attention.Causal(b, qkv, attention.Options{Heads: 1, Seq: 1, Scale: 1})}}, nil
	})
	optest.RequireLine(t, err, "want an input of tokens")
	_, err = compile(newCache(), func(b *graph.Builder) (graph.Roots, error) {
		return graph.Roots{Outputs: gorgonia.Nodes{attention.Causal(b, b.Input("qkv", tensor.Float32, 2, 2), attention.Options{Heads: 1, Seq: 1})}}, nil
	})
	optest.RequireLine(t, err, "CausalAttention")
}

// TestCacheOfSharedHeads: the cache has one part for each head of keys and values, not for each
// head of queries.
func TestCacheOfSharedHeads(t *testing.T) {
	entries := func(kvHeads int) int {
		cache, err := graph.NewCache(2, 3)
		require.NoError(t, err)
		p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1, Cache: cache}}, func(b *graph.Builder) (graph.Roots, error) {
			tokens := b.Input("tokens", tensor.Int32, 2, 1)
			table := b.Param(graph.ParamSpec{Name: "e", Shape: []int{5, 4 + 2*kvHeads, 6}, Init: graph.Normal(1)})
			o := attention.Options{Heads: 4, KVHeads: kvHeads, Seq: 1, Scale: 1}
			return graph.Roots{Outputs: gorgonia.Nodes{attention.Causal(b, embedding.Gather(b, table, tokens, 1), o)}}, nil
		})
		require.NoError(t, err)
		defer p.Close()
		return graph.CacheEntries(cache)
	}
	require.Equal(t, 2*2*4*3*6, entries(4))
	require.Equal(t, 2*2*1*3*6, entries(1))
}

// TestCacheLength checks that the cache counts the tokens of each run, refuses tokens that do not
// fit, and does not change when a run fails.
func TestCacheLength(t *testing.T) {
	cache, err := graph.NewCache(2, 3)
	require.NoError(t, err)
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1, Cache: cache}}, cachedGraph(2, 1))
	require.NoError(t, err)
	defer p.Close()
	for range 2 {
		for i := range 3 {
			require.Equal(t, i, cache.Len(0))
			before := cache.AllRows()
			p.Ints("tokens")[0], p.Ints("tokens")[1] = 2, 9
			optest.RequireLine(t, p.Run(graph.RunOptions{}), "got 9")
			require.Equal(t, i, cache.Len(1))
			require.Equal(t, before, cache.AllRows())
			p.Ints("tokens")[0], p.Ints("tokens")[1] = int32(i), 1
			require.NoError(t, p.Run(graph.RunOptions{}))
		}
		require.Equal(t, []graph.CacheRow{{Start: 2, Previous: 2}, {Start: 0, Previous: 1}}, cache.AllRows())
		optest.RequireLine(t, p.Run(graph.RunOptions{}), "want room for 1 more tokens after 3, got a capacity of 3")
		cache.Reset()
	}
}

// TestCacheRows: a run advances the rows that it names, by their numbers of tokens; an impossible
// assignment is refused before anything runs.
func TestCacheRows(t *testing.T) {
	cache, err := graph.NewCache(4, 5)
	require.NoError(t, err)
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1, Cache: cache}}, cachedGraph(2, 3))
	require.NoError(t, err)
	defer p.Close()
	lengths := func() (n []int) {
		for row := range cache.Rows() {
			n = append(n, cache.Len(row))
		}
		return n
	}
	require.NoError(t, p.Run(graph.RunOptions{Rows: []graph.RunRow{{Row: 3, Tokens: 2}, {Row: 1, Tokens: 3}}}))
	require.NoError(t, p.Run(graph.RunOptions{Rows: []graph.RunRow{{Row: 1, Tokens: 1}}}))
	require.NoError(t, p.Run(graph.RunOptions{Rows: []graph.RunRow{}}))
	require.Equal(t, []int{0, 4, 0, 2}, lengths())
	for want, rows := range map[string][]graph.RunRow{
		"want a row of 0 to 3, got 4":                        {{Row: 4, Tokens: 1}},
		"want a row of 0 to 3, got -1":                       {{Row: -1}},
		"row 2: want at most the program's 3 tokens, got 4":  {{Row: 2, Tokens: 4}},
		"room for 3 more tokens after 4":                     {{Row: 2, Tokens: 1}, {Row: 1, Tokens: 3}},
		"row 2: want it once in a run, got it twice":         {{Row: 2, Tokens: 1}, {Row: 2, Tokens: 1}},
		"want at most the program's 2 rows, got 3":           {{Row: 0}, {Row: 1}, {Row: 2}},
		"row 0: want at most the program's 3 tokens, got -1": {{Row: 0, Tokens: -1}},
	} {
		optest.RequireLine(t, p.Run(graph.RunOptions{Rows: rows}), want)
	}
	require.Equal(t, []int{0, 4, 0, 2}, lengths())
	cache.Reset(1)
	require.Equal(t, []int{0, 0, 0, 2}, lengths())
}
