package elementwise

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// Scale multiplies every entry by a constant factor.
func Scale(b *graph.Builder, x *gorgonia.Node, factor float64) *gorgonia.Node {
	return b.Formula(kernel.ScaleFormula(), gorgonia.Nodes{x}, factor)[0]
}
