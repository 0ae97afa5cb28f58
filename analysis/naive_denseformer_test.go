package analysis_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// StaticDenseFormer is a site's write times what averages make of it.
func (n *naive) StaticDenseFormer(site, to string, m *mat.Dense) *mat.Dense {
	return sized(m, n.averaged(site, to))
}

// averaged is what depth-weighted averages make of 1 that a site writes, where another reads.
func (n *naive) averaged(site, to string) float64 {
	wrote, reads := -1, n.c.Layers // blocks
	_, _ = fmt.Sscanf(site, "blocks.%d.", &wrote)
	_, _ = fmt.Sscanf(to, "blocks.%d.", &reads)
	written := func(block int) float64 { return map[bool]float64{true: 1}[block == wrote] }
	x := []float64{written(-1)} // X_0 to X_i
	y := x[0]
	for i := 1; i <= reads; i++ {
		y += written(i - 1)
		x = append(x, y)
		if p := n.store.Param(fmt.Sprintf("blocks.%d.dwa", i-1)); p != nil {
			y = 0
			for k, a := range graph.Float64s(p.Value) {
				y += a * x[i-(p.Size()-1-k)*settingsOf[stream.DenseFormerConfig](n.c).Dilation]
			}
		}
	}
	return y + written(reads) // by the attention of the feed-forward that reads
}
