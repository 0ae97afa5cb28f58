package layers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

// TestEmbedding looks up rows of two axes, multiplied by the scale.
func TestEmbedding(t *testing.T) {
	const vocab, rank, dv, scale = 6, 2, 3, 1.5
	e := compile(t, nil, func(b *graph.Builder) *gorgonia.Node {
		table := layers.NewEmbedding(b, "table", layers.Init{Embedding: 1}, scale, vocab, rank, dv)
		assert.Equal(t, "table", table.Table().Name())
		return table.Forward(b.Input("ids", tensor.Int32, 2, 2))
	})
	ids := []int32{5, 0, 5, 3}
	copy(e.Ints("ids"), ids)
	var want []float64
	for _, id := range ids {
		for _, v := range e.param("table")[id*rank*dv : (id+1)*rank*dv] {
			want = append(want, scale*v)
		}
	}
	assert.InDeltaSlice(t, want, e.on(nil), tolerance)
	assert.Equal(t, tensor.Shape{4, rank, dv}, e.output.Shape())
}
