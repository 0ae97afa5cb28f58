package elementwise

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// Sigmoid computes the logistic function 1/(1 + exp(-x)), elementwise.
func Sigmoid(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node {
	return b.Formula(kernel.SigmoidFormula(), gorgonia.Nodes{x})[0]
}
