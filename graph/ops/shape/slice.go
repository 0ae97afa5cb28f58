package shape

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// slice takes consecutive features of each token, in the shape of result.
type slice struct {
	from   int
	result graph.Signature
}

// Slice takes the features numbered from (inclusive) to to (exclusive) of each token, flattened
// over their axes:
//
//	y_t = x_t[from:to]
//
// x [T, ...], y [T, to-from].
func Slice(b *graph.Builder, x *gorgonia.Node, from, to int) *gorgonia.Node {
	k := slice{from: from}
	if x != nil && x.Dims() > 1 {
		s := graph.SignatureOf(x)
		if from < 0 || to <= from || to > s.Width() {
			b.Fail(errors.Errorf("graph: Slice: want features within [0, %d) of x %v, got [%d, %d)", s.Width(), s.Shape, from, to))
			return nil
		}
		k.result = graph.Signature{DType: s.DType, Shape: graph.WithTokens(s.Leading(), to-from)}
	}
	return b.Apply(k, x)
}

func (k slice) String() string { return fmt.Sprintf("Slice(from=%d) %v", k.from, k.result.Shape) }

func (k slice) Infer(in []graph.Signature) (graph.Signature, error) {
	if in[0].Shape.Dims() < 2 {
		return graph.Signature{}, errors.Errorf("x: want shape [tokens, ...], got %v", in[0].Shape)
	}
	return k.result, nil
}

func (slice) SameType() bool { return true }

func (k slice) VJP(d *graph.Derivative) {
	d.MakeAccumulating(sliceGrad{from: k.from}, d.Gradient())
}

func (k slice) Run(c *graph.Call) {
	graph.Dispatch(c, k, runSlice, runSlice)
}

func runSlice[T kernel.Float](k slice, c graph.CallOf[T]) {
	graph.State[kernel.Columns[T]](c).Take(c.Pool(), c.Out(), c.In(0), c.Result().Leading(), k.from)
}

// sliceGrad places dy among zeros. Inputs: dy and optionally the gradient of x from its other
// readers, to which dx is added.
type sliceGrad struct {
	graph.NoGradient
	from int
}

func (k sliceGrad) String() string { return fmt.Sprintf("GradX of Slice(from=%d)", k.from) }

func (k sliceGrad) InPlace(i int) bool { return i == 1 }

func (sliceGrad) SameType() bool { return true }

func (k sliceGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runSliceGrad, runSliceGrad)
}

func runSliceGrad[T kernel.Float](k sliceGrad, c graph.CallOf[T]) {
	graph.State[kernel.Columns[T]](c).Put(c.Pool(), c.Out(), c.In(1), c.In(0), c.Result().Leading(), k.from)
}
