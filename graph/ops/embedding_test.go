package ops_test

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/embedding"
	"github.com/residua-go/residua/graph/optest"
)

func embeddingCases() []optest.Case {
	make := func(name string, table, ids []int, scale float64) optest.Case {
		return optest.Case{Name: "Embedding/" + name, Floats: [][]int{table}, Ints: []optest.IntInput{{Shape: ids, Draw: optest.Below(table[0])}},
			Build: func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
				return embedding.Gather(b, x[0], ids[0], scale)
			},
			Want: func(x [][]float64, ids [][]int32) []float64 {
				return wantEmbedding(x[0], ids[0], optest.Product(table[1:]), scale)
			}}
	}
	return []optest.Case{
		make("vectors", []int{5, 3}, []int{2, 7}, 1),
		make("matrices scaled", []int{7, 2, 3}, []int{11}, 0.5),
		make("one token", []int{1, 1}, []int{1, 1}, 3),
	}
}

func wantEmbedding(table []float64, ids []int32, width int, scale float64) []float64 {
	var y []float64
	for _, id := range ids {
		y = append(y, optest.WantScale(table[int(id)*width:][:width], scale)...)
	}
	return y
}
