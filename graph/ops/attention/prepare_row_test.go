package attention

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/optest"
)

// rowNormCases returns cases of Prepare that normalise a token's queries, and its keys, over all
// heads together.
func rowNormCases() []optest.Case {
	const tokens, heads, kvHeads, dim = 5, 4, 2, 3
	return []optest.Case{{Name: "PrepareQKV/norm of rows", Floats: [][]int{{tokens, (heads + 2*kvHeads) * dim}, {heads * dim}, {kvHeads * dim}},
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			return Prepare(b, x[0], Preparation{Heads: heads, KVHeads: kvHeads, Eps: 0.01, QueryGain: x[1], KeyGain: x[2]})
		},
		Want: func(x [][]float64, _ [][]int32) []float64 {
			y := append([]float64(nil), x[0]...)
			for row := 0; row < len(y); row += (heads + 2*kvHeads) * dim {
				wantRowNorm(y[row:], x[1])
				wantRowNorm(y[row+heads*dim:], x[2])
			}
			return y
		}}}
}

// wantRowNorm normalises the first entries of v, as many as there are gains.
func wantRowNorm(v, gain []float64) {
	square := 0.0
	for i := range gain {
		square += v[i] * v[i] / float64(len(gain))
	}
	for i, g := range gain {
		v[i] *= g / math.Sqrt(square+0.01)
	}
}
