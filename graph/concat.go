package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// concat puts each token's features side by side.
type concat struct{}

// Concat puts the features of its inputs side by side, each flattened over its last axes:
//
//	y_t = [x0_t | x1_t | ...]
//
// inputs [T, ...], y [T, sum of their widths].
func (b *Builder) Concat(inputs ...*gorgonia.Node) *gorgonia.Node {
	if len(inputs) == 0 {
		b.Fail(errors.New("graph: Concat: want at least one input, got none"))
		return nil
	}
	return b.Apply(concat{}, inputs...)
}

func (concat) String() string { return "Concat" }

func (concat) Infer(in []Signature) (Signature, error) {
	if err := WantFloats(in); err != nil {
		return Signature{}, err
	}
	width := 0
	for i, s := range in {
		if s.Shape.Dims() < 2 || s.Leading() != in[0].Leading() {
			return Signature{}, errors.Errorf("input %d: want [%d, ...], as many tokens as input 0, got %v", i, in[0].Leading(), s.Shape)
		}
		width += s.Width()
	}
	return Signature{in[0].DType, WithTokens(in[0].Leading(), width)}, nil
}

// VJP gives each input its columns of the gradient.
func (concat) VJP(d *Derivative) {
	from := 0
	for i := range d.Inputs() {
		s := d.Signature(i)
		if d.Wants(i) {
			d.Set(i, d.Apply(slice{from, s}, d.Gradient()))
		}
		from += s.Width()
	}
}

func (k concat) Run(c *Call) error {
	return Dispatch(c, k, runConcat[float32], runConcat[float64])
}

// concatState is the kernel with its list of inputs, kept so that a run allocates nothing.
type concatState[T kernel.Float] struct {
	kernel.Concat[T]
	inputs [][]T
}

func runConcat[T kernel.Float](_ concat, c *Call) error {
	s := State[concatState[T]](c)
	s.inputs = s.inputs[:0]
	for i := range c.Inputs() {
		s.inputs = append(s.inputs, In[T](c, i))
	}
	s.Run(c.Pool(), Out[T](c), s.inputs, c.Result().Leading())
	return nil
}
