package shape

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// concat puts each token's features side by side.
type concat struct{}

// Concat puts the features of its inputs side by side, each flattened over its last axes:
//
//	y_t = [x0_t | x1_t | ...]
//
// inputs [T, ...], y [T, sum of their widths].
func Concat(b *graph.Builder, inputs ...*gorgonia.Node) *gorgonia.Node {
	if len(inputs) == 0 {
		b.Fail(errors.New("graph: Concat: want at least one input, got none"))
		return nil
	}
	return b.Apply(concat{}, inputs...)
}

func (concat) String() string { return "Concat" }

func (concat) Infer(in []graph.Signature) (graph.Signature, error) {
	width := 0
	for i, s := range in {
		if s.Shape.Dims() < 2 || s.Leading() != in[0].Leading() {
			return graph.Signature{}, errors.Errorf("input %d: want [%d, ...], as many tokens as input 0, got %v", i, in[0].Leading(), s.Shape)
		}
		width += s.Width()
	}
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(in[0].Leading(), width)}, nil
}

func (concat) SameType() bool { return true }

// VJP gives each input its columns of the gradient.
func (concat) VJP(d *graph.Derivative) {
	from := 0
	for i := range d.Inputs() {
		s := d.Signature(i)
		if d.Wants(i) {
			d.Make(i, slice{from, s}, d.Gradient())
		}
		from += s.Width()
	}
}

func (k concat) Run(c *graph.Call) {
	graph.Dispatch(c, k, runConcat, runConcat)
}

func runConcat[T kernel.Float](_ concat, c graph.CallOf[T]) {
	s := graph.State[graph.Listed[kernel.Concat[T], T]](c)
	s.Kernel.Run(c.Pool(), c.Out(), s.Inputs(c, 0), c.Result().Leading())
}
