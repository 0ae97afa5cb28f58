package analysis_test

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/graph"
)

// StaticDeepDelta is a site's write after a read.
func (n *naive) StaticDeepDelta(_, to string, m *mat.Dense) *mat.Dense {
	_, d := m.Dims()
	return times(m, n.compressed(to, d))
}

// compressed is what a read makes of rows that are alike, at their own position.
func (n *naive) compressed(to string, d int) mat.Matrix {
	name, block := "compress", 0
	if _, err := fmt.Sscanf(to, "blocks.%d.", &block); err == nil {
		name = fmt.Sprintf("blocks.%d.compress", block)
	}
	factors := slices.Repeat([]float64{1}, d)
	if r := n.store.Param(name + ".read"); r != nil {
		factors = make([]float64, d)
		filter := graph.Float64s(n.store.Param(name + ".conv").Value)
		for c, weight := range graph.Float64s(r.Value) {
			floats.AddScaled(factors, weight, filter[len(filter)-(r.Size()-c)*d:][:d])
		}
	}
	return mat.NewDiagDense(d, factors)
}
