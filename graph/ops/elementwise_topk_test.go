package ops_test

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/optest"
)

// sparseCases are cases of TopK and WherePositive.
func sparseCases() []optest.Case {
	topK := func(k int, shape ...int) optest.Case {
		return optest.Case{Name: fmt.Sprintf("TopK/%d of %v", k, shape), Floats: [][]int{shape},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return elementwise.TopK(b, x[0], k) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return wantTopK(x[0], len(x[0])/shape[0], k) }}
	}
	gate := optest.Given{7, 5}
	return []optest.Case{topK(1, 3, 5), topK(3, 7, 9), topK(2, 2, 3, 4), topK(5, 3, 5), topK(4, 1, 64),
		{Name: "Detach", Floats: [][]int{gate}, NoGradient: true,
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return elementwise.Detach(b, x[0]) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return x[0] }},
		{Name: "WherePositive", Floats: [][]int{gate},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return elementwise.WherePositive(b, x[0], gate.Node(b))
			},
			Want: func(x [][]float64, _ [][]int32) []float64 {
				y := make([]float64, len(x[0]))
				for i, v := range x[0] {
					if gate.Values()[i] > 0 {
						y[i] = v
					}
				}
				return y
			}}}
}

// wantTopK keeps what is above the entry that has k before it, by a sort of the whole row.
func wantTopK(x []float64, width, k int) []float64 {
	var y []float64
	for row := range slices.Chunk(x, width) {
		sorted := slices.Sorted(slices.Values(row))
		least := sorted[len(sorted)-k]
		for _, v := range row {
			if v < least {
				v = 0
			}
			y = append(y, math.Max(v, 0))
		}
	}
	return y
}
