package analysis_test

import (
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/graph"
)

// StaticMUDD is a site's write times what connections make of it.
func (n *naive) StaticMUDD(site, to string, m *mat.Dense) *mat.Dense {
	return sized(m, n.connected(site, to))
}

// connected is what MUDD connections of weights b make of 1 that a site writes, where another
// reads.
func (n *naive) connected(site, to string) float64 {
	written := func(name string) float64 { return map[bool]float64{true: 1}[name == site] }
	x := []float64{written("embedding") + written("positions")}
	ways := []float64{x[0], x[0], x[0], x[0]}
	for l := range n.c.Layers {
		attention, feedforward := fmt.Sprintf("blocks.%d.attention", l), fmt.Sprintf("blocks.%d.feedforward", l)
		if name, via := splitVia(to); name == attention {
			return ways[max(via, 0)]
		}
		residual := ways[len(ways)-1] + written(attention)
		if to == feedforward {
			return residual
		}
		x = append(x, residual+written(feedforward))
		b := graph.Float64s(n.store.Param(fmt.Sprintf("blocks.%d.mudd.bias", l)).Value)
		ways = nil
		for c := range len(b) / len(x) {
			ways = append(ways, floats.Dot(b[c*len(x):][:len(x)], x))
		}
	}
	return ways[0]
}
