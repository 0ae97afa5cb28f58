package elementwise

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// SoftCap bounds x smoothly, elementwise (Gemma 2, arXiv 2408.00118, section 2):
//
//	y = c tanh(x/c)
//
// With c = 0 there is no bound: SoftCap returns x itself.
func SoftCap(b *graph.Builder, x *gorgonia.Node, c float64) *gorgonia.Node {
	if c == 0 {
		return x
	}
	return b.Formula(kernel.SoftCapFormula(), gorgonia.Nodes{x}, c)[0]
}
