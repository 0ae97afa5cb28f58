package attention

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
)

// positions computes the index of each token in its row.
type positions struct {
	graph.NoGradient
	cache *graph.Cache
}

// Positions returns each token's index in its row, [batch, seq] Int32. With a cache, counting
// continues from the row's length in the cache; padding gets 0. tokens is [batch, seq] Int32.
func Positions(b *graph.Builder, tokens *gorgonia.Node) *gorgonia.Node {
	return b.Apply(positions{cache: b.Cache()}, tokens)
}

func (positions) String() string { return "Positions" }

// ReadsInts returns true for the tokens.
func (positions) ReadsInts(int) bool { return true }

func (k positions) Infer(in []graph.Signature) (graph.Signature, error) {
	return tokenRows(in[0], k.cache)
}

// tokenRows checks tokens [batch, seq] Int32 and, if there is a cache, the number of rows.
func tokenRows(s graph.Signature, cache *graph.Cache) (graph.Signature, error) {
	if s.Shape.Dims() != 2 {
		return graph.Signature{}, errors.Errorf("tokens: want [batch, seq], got %s", s)
	}
	return s, cache.CheckRows(s.Shape[0])
}

func (k positions) Run(c *graph.Call) {
	seq, result := c.Signature(0).Shape[1], c.IntsOut()
	for i := range result {
		result[i] = int32(i % seq)
		if k.cache == nil {
			continue
		}
		row := k.cache.Running(i / seq)
		if result[i] += row.Past; result[i] >= row.Past+row.Tokens {
			result[i] = 0
		}
	}
}

// documentStarts finds where each token's document starts.
type documentStarts struct {
	graph.NoGradient
	bos, separator int32
	cache          *graph.Cache
}

// DocumentStarts returns, for each token, the index in its row of the first token of its document,
// [batch, seq] Int32. A document begins at a BOS whose previous token is not a BOS, so that a run
// of BOS opens one document; a row may begin inside a document. With a separator, an id above 0, a
// document also begins at each separator; only the separator itself still belongs to the document
// before. tokens is [batch, seq] Int32.
func DocumentStarts(b *graph.Builder, tokens *gorgonia.Node, bos, separator int) *gorgonia.Node {
	return b.Apply(documentStarts{bos: int32(bos), separator: int32(separator), cache: b.Cache()}, tokens)
}

func (k documentStarts) String() string {
	return fmt.Sprintf("DocumentStarts(bos=%d, separator=%d)", k.bos, k.separator)
}

// row finds the starts of tokens that begin at position first of their row, after a token previous
// of a document that begins at start; it returns the last start and token.
func (k documentStarts) row(starts, tokens []int32, first, start, previous int32) (int32, int32) {
	for i := range starts {
		id := tokens[i]
		switch {
		case id == k.bos && previous != k.bos:
			start = first + int32(i)
		case k.separator > 0 && previous == k.separator:
			start = first + int32(i) - 1
		}
		starts[i], previous = start, id
	}
	return start, previous
}

// StartsOf returns what DocumentStarts computes for rows of seq tokens.
func StartsOf(tokens []int32, seq, bos, separator int) []int32 {
	k, starts := documentStarts{bos: int32(bos), separator: int32(separator)}, make([]int32, len(tokens))
	for row := 0; row+seq <= len(tokens); row += seq {
		k.row(starts[row:][:seq], tokens[row:], 0, 0, -1)
	}
	return starts
}

// ReadsInts returns true for the tokens.
func (documentStarts) ReadsInts(int) bool { return true }

func (k documentStarts) Infer(in []graph.Signature) (graph.Signature, error) {
	return tokenRows(in[0], k.cache)
}

func (k documentStarts) Run(c *graph.Call) {
	tokens, starts := c.Ints(0), c.IntsOut()
	seq := c.Signature(0).Shape[1]
	for row := 0; row*seq < len(tokens); row++ {
		first, end, start, previous := int32(0), seq, int32(0), int32(-1)
		if k.cache != nil {
			running, stands := k.cache.Running(row), k.cache.Row(row)
			first, end, start, previous = running.Past, int(running.Tokens), stands.Start, stands.Previous
		}
		start, previous = k.row(starts[row*seq:][:end], tokens[row*seq:], first, start, previous)
		clear(starts[row*seq+end : (row+1)*seq])
		if k.cache != nil {
			k.cache.SetNext(row, graph.CacheRow{Start: start, Previous: previous})
		}
	}
}
