package ops_test

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/optest"
)

// productCase is the case of Product.
func productCase() optest.Case {
	return optest.Case{Name: "Product", Floats: [][]int{{7, 5}, {7, 5}},
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return elementwise.Product(b, x[0], x[1]) },
		Want: func(x [][]float64, _ [][]int32) (y []float64) {
			for i, v := range x[0] {
				y = append(y, v*x[1][i])
			}
			return y
		}}
}
