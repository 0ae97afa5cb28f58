package elementwise

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// wherePositive keeps entries of its first input where the second is positive.
type wherePositive struct{}

// WherePositive keeps x where gate is positive, as gated and JumpReLU autoencoders do with their
// features (Rajamanoharan et al. 2024, arXiv 2404.16014, equation 6):
//
//	y = x where gate > 0, else 0
//
// x, gate and y have one shape; gate gets no gradient. It runs on the CPU alone.
func WherePositive(b *graph.Builder, x, gate *gorgonia.Node) *gorgonia.Node {
	return b.Apply(wherePositive{}, x, gate)
}

func (wherePositive) String() string { return "WherePositive" }

func (wherePositive) Infer(in []graph.Signature) (graph.Signature, error) {
	if !in[1].Shape.Eq(in[0].Shape) {
		return graph.Signature{}, errors.Errorf("gate: want the shape of x, %v, got %v", in[0].Shape, in[1].Shape)
	}
	return in[0], nil
}

func (wherePositive) InPlace(int) bool { return true }

func (wherePositive) Differentiable(i int) bool { return i == 0 }

func (k wherePositive) VJP(d *graph.Derivative) { d.Make(0, k, d.Gradient(), d.Input(1)) }

func (k wherePositive) Run(c *graph.Call) {
	graph.Dispatch(c, k, runWherePositive, runWherePositive)
}

func runWherePositive[T kernel.Float](_ wherePositive, c graph.CallOf[T]) {
	graph.State[kernel.WherePositive[T]](c).Run(c.Pool(), c.Out(), c.In(0), c.In(1))
}

// detach passes its input on without a gradient.
type detach struct{ graph.NoGradient }

// Detach returns x's values as given ones: no gradient passes. It runs on the CPU alone.
func Detach(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node { return b.Apply(detach{}, x) }

func (detach) String() string { return "Detach" }

func (k detach) Run(c *graph.Call) { graph.Dispatch(c, k, runDetach, runDetach) }

func runDetach[T kernel.Float](_ detach, c graph.CallOf[T]) { copy(c.Out(), c.In(0)) }
