package graph

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func reshapeCases() []opCase {
	same := func(x [][]float64, _ [][]int32) []float64 { return slices.Clone(x[0]) }
	return []opCase{
		{name: "Reshape/matrices", floats: [][]int{{3, 8}}, want: same,
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Reshape(x[0], 2, 4) }},
		{name: "Reshape/vectors", floats: [][]int{{3, 2, 5}}, want: same,
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.Reshape(x[0], 10) }},
	}
}

func TestReshapeRefuses(t *testing.T) {
	b := On(gorgonia.NewGraph(), Options{})
	b.Reshape(b.Input("x", tensor.Float32, 3, 8), 3, 3)
	assert.ErrorContains(t, b.Err(), "want [tokens, ...] of 9 entries each for the axes (3, 3), got shape (3, 8)")
}
