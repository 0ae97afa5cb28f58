package ops_test

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/optest"
)

func normCases() []optest.Case {
	var cases []optest.Case
	for _, o := range []norm.Options{{}, {RMS: true}, {Eps: 1e-2}, {Groups: 2}, {Groups: 2, RMS: true}} {
		for _, bias := range []bool{false, true} {
			for _, shapes := range [][2][]int{{{4, 5}, {5}}, {{2, 3, 5}, {3, 5}}, {{2, 3, 5}, {5}}, {{1, 3}, {3}}, {{7, 3, 4}, {2, 6}}} {
				x, gain := shapes[0], shapes[1]
				if grouped := optest.Product(gain) == optest.Product(x[1:]) && gain[0] == 2; grouped != (o.Groups > 0) {
					continue
				}
				c := optest.Case{Name: fmt.Sprintf("Norm/%v bias=%t %v over %v", o.Params(), bias, x, gain), MayBeNil: []int{2}, Floats: [][]int{x, gain},
					Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
						o := o
						if bias {
							o.Bias = x[2]
						}
						return norm.Apply(b, x[0], x[1], o)
					},
					Want: func(x [][]float64, _ [][]int32) []float64 { return optest.WantNorm(x, o) }}
				if bias {
					c.Floats = append(c.Floats, gain)
				}
				cases = append(cases, c)
			}
		}
	}
	return cases
}
