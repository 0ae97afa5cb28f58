package ops_test

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/optest"
)

// matchSizeCases have rows above and below the smallest mean square.
func matchSizeCases() []optest.Case {
	var cases []optest.Case
	for name, factor := range map[string]float64{"MatchSize": 1, "MatchSize/small": 1e-3} {
		for _, shape := range [][]int{{4, 5}, {3, 2, 6}, {2, 132}} {
			cases = append(cases, optest.Case{Name: name, Floats: [][]int{shape, shape},
				Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
					return norm.MatchSize(b, elementwise.Scale(b, x[0], factor), x[1])
				},
				Want: func(x [][]float64, _ [][]int32) []float64 {
					return wantMatchSize(optest.WantScale(x[0], factor), x[1], len(x[0])/shape[0])
				}})
		}
	}
	return cases
}

// wantMatchSize computes MatchSize from its equation.
func wantMatchSize(v, like []float64, width int) (y []float64) {
	for t := 0; t < len(v); t += width {
		var square, likeSquare float64
		for i := t; i < t+width; i++ {
			square += v[i] * v[i] / float64(width)
			likeSquare += like[i] * like[i] / float64(width)
		}
		for _, x := range v[t : t+width] {
			y = append(y, x*math.Sqrt(likeSquare)/math.Sqrt(max(square, 1e-5)))
		}
	}
	return y
}
