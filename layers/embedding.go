package layers

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/embedding"
)

// Embedding is a table with one row for each token id.
type Embedding struct {
	b     *graph.Builder
	table *gorgonia.Node
	scale float64
}

// NewEmbedding makes the table name [vocab, ...row]; scale multiplies the rows that are looked up
// (muP input multiplier).
func NewEmbedding(b *graph.Builder, name string, init Init, scale float64, vocab int, row ...int) *Embedding {
	shape := append([]int{vocab}, row...)
	return &Embedding{b: b, table: b.Param(init.Input(name, shape...)), scale: scale}
}

// Forward looks up the rows of ids, Int32 with T elements: [T, ...row].
func (e *Embedding) Forward(ids *gorgonia.Node) *gorgonia.Node {
	return embedding.Gather(e.b, e.table, ids, e.scale)
}

// Table returns the table's node, for a tied unembedding.
func (e *Embedding) Table() *gorgonia.Node { return e.table }
