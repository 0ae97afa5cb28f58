package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/layers"
)

// tables embeds each token as one vector: E[token] + P[position].
type tables struct {
	b         *graph.Builder
	embedding *layers.Embedding
	positions *layers.Embedding // nil: none
	dropout   float64
	scale     float64  // factor of the embedding's rows
	axes      []string // names of the axes of a row
}

// The hooks of the rows that are looked up in the tables.
const (
	tokenRows    = "embedding.tokens"
	positionRows = "embedding.positions"
)

// newTables makes tables of rows of the given axes, by default D.
func newTables(b *graph.Builder, c Vectors, row ...int) tables {
	axes := []string{"row", "feature"}
	if len(row) == 0 {
		row, axes = []int{c.D}, []string{"feature"}
	}
	t := tables{b: b, dropout: c.Dropout, scale: c.InputScale, axes: axes, embedding: layers.NewEmbedding(b, "embedding", c.Init, c.InputScale, c.Vocab, row...)}
	if c.Positions > 0 {
		t.positions = layers.NewEmbedding(b, "positions", c.Init, 1, c.Positions, row...)
	}
	return t
}

// embed looks up the tokens and adds their positions: [T, D].
func (t tables) embed(in Tokens) *gorgonia.Node {
	return t.b.Hook("embedding.out", t.lookUp(in), "feature")
}

// lookUp is like embed, for a stream that does more with the result.
func (t tables) lookUp(in Tokens) *gorgonia.Node {
	h := t.b.Hook(tokenRows, t.embedding.Forward(in.IDs), t.axes...) // [T, D]
	if t.positions != nil {
		h = t.b.Add(h, t.b.Hook(positionRows, t.positions.Forward(in.Positions), t.axes...))
	}
	return elementwise.Dropout(t.b, h, t.dropout)
}

// Table returns E [V, D].
func (t tables) Table() *gorgonia.Node { return t.embedding.Table() }
