package elementwise

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// WherePositive keeps x where gate is positive, as gated and JumpReLU autoencoders do with their
// features (Rajamanoharan et al. 2024, arXiv 2404.16014, equation 6):
//
//	y = x where gate > 0, else 0
//
// x, gate and y have one shape; gate gets no gradient. It runs on the CPU alone.
func WherePositive(b *graph.Builder, x, gate *gorgonia.Node) *gorgonia.Node {
	return b.Formula(kernel.WherePositiveFormula(), gorgonia.Nodes{x, gate})[0]
}

// detach passes its input on without a gradient.
type detach struct{ graph.NoGradient }

// Detach returns x's values as constants: no gradient passes. It runs on the CPU alone.
func Detach(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node { return b.Apply(detach{}, x) }

func (detach) String() string { return "Detach" }

func (k detach) Run(c *graph.Call) { graph.Dispatch(c, k, runDetach, runDetach) }

func runDetach[T kernel.Float](_ detach, c graph.CallOf[T]) { copy(c.Out(), c.In(0)) }
