package ops_test

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/optest"
)

// squaredErrorCases are cases of SquaredError, of a given want.
func squaredErrorCases() []optest.Case {
	make := func(name string, shape ...int) optest.Case {
		want := optest.Given(shape)
		return optest.Case{Name: "SquaredError/" + name, Floats: [][]int{shape},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return loss.SquaredError(b, x[0], want.Node(b))
			},
			Want: func(x [][]float64, _ [][]int32) []float64 {
				sum := 0.0
				for i, v := range x[0] {
					sum += (v - want.Values()[i]) * (v - want.Values()[i])
				}
				return []float64{sum / float64(shape[0])}
			}}
	}
	return []optest.Case{make("vectors", 7, 5), make("matrices", 3, 2, 4), make("one token", 1, 1)}
}
