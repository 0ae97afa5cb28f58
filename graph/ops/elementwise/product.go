package elementwise

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// Product multiplies two tensors of one shape, x ⊙ y.
func Product(b *graph.Builder, x, y *gorgonia.Node) *gorgonia.Node {
	return b.Formula(kernel.MultiplyFormula(), gorgonia.Nodes{x, y})[0]
}
