package layers

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/embedding"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/shape"
)

// ValueEmbedding adds to an attention's values the token's row of a table of the attention's own,
// gated by what the attention reads (Karpathy 2025, nanochat):
//
//	v_h <- v_h + 3 sigmoid(u[:c] G)_h E[token]_h
//
// for each head h of keys and values, u being the attention's normalised input.
type ValueEmbedding struct {
	b            *graph.Builder
	name         string
	table, gate  *gorgonia.Node // E [V, KV*Dh]; G [c, KV]
	heads, width int            // KV, KV*Dh
}

// ValueEmbeddingSizes are the sizes of a ValueEmbedding: the vocabulary V, the width D of u, its
// Channels c that the gate reads, and the heads of keys and values with their dimension.
type ValueEmbeddingSizes struct{ Vocab, Width, Channels, Heads, HeadDim int }

// valueGate is the largest value of a gate.
const valueGate = 3

// NewValueEmbedding makes name.value_embedding, E [V, KV*Dh], uniform on +-sqrt(3/D) at first, and
// name.value_gate, G [c, KV], uniform from 0 to 0.02. Neither decays.
func NewValueEmbedding(b *graph.Builder, name string, s ValueEmbeddingSizes) *ValueEmbedding {
	width := s.Heads * s.HeadDim
	table := graph.ParamSpec{Name: name + ".value_embedding", Shape: []int{s.Vocab, width}, Init: graph.Initializer{Uniform: math.Sqrt(3 / float64(s.Width))}}
	gate := graph.ParamSpec{Name: name + ".value_gate", Shape: []int{s.Channels, s.Heads}, Init: graph.Initializer{Offset: 0.01, Uniform: 0.01}}
	return &ValueEmbedding{b: b, name: name, heads: s.Heads, width: width, table: b.Param(table), gate: b.Param(gate)}
}

// Cost returns the cost of one attention's value embedding. It keeps the gate's input, its scores
// for each entry, and the rows of the table.
func (s ValueEmbeddingSizes) Cost() Cost {
	channels, heads, width := float64(s.Channels), float64(s.Heads), float64(s.Heads*s.HeadDim)
	table := float64(s.Vocab) * width
	return Cost{Parameters: table + channels*heads, Tables: table, FLOPs: 2*channels*heads + 2*heads*width, Activations: 2*width + channels}
}

// Add adds to the values of packed queries, keys and values, qkv [T, ...], given the attention's
// input u [T, D] and the ids of the tokens. What it adds [T, KV*Dh] has the hook
// name.value_embedding.out.
func (e *ValueEmbedding) Add(qkv, u, ids *gorgonia.Node) *gorgonia.Node {
	if qkv == nil || u == nil || e.b.Err() != nil {
		return qkv
	}
	b := e.b
	rows := embedding.Gather(b, e.table, ids, valueGate)                                       // [T, KV*Dh]
	scores := linear.Map(b, shape.Slice(b, u, 0, e.gate.Shape()[0]), e.gate, linear.Options{}) // [T, KV]
	gated := shape.Concat(b, linear.Map(b, scores, e.eachEntry(), linear.Options{}), rows)     // [T, 2*KV*Dh]
	axes, all := qkv.Shape()[1:].Clone(), graph.SignatureOf(qkv).Width()
	if len(axes) > 1 {
		all = axes.TotalSize()
		qkv = shape.Reshape(b, qkv, all)
	}
	values := shape.Slice(b, qkv, all-e.width, all) // [T, KV*Dh]
	if name := e.name + ".value_embedding.out"; b.Hooked(name) {
		values = b.Add(values, b.Hook(name, elementwise.GLU(b, gated), "feature"))
	} else {
		values = elementwise.GLU(b, gated, values)
	}
	return shape.Reshape(b, shape.Concat(b, shape.Slice(b, qkv, 0, all-e.width), values), axes...)
}

// eachEntry returns the matrix [KV, KV*Dh] that repeats a number of each head for all entries of
// the head.
func (e *ValueEmbedding) eachEntry() *gorgonia.Node {
	values := make([]float64, e.heads*e.width)
	for i := range values {
		if head, entry := i/e.width, i%e.width; entry*e.heads/e.width == head {
			values[i] = 1
		}
	}
	return shape.Constant(e.b, e.gate, values, e.heads, e.width)
}
