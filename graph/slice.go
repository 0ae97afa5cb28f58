package graph

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// slice takes a run of each token's features, in the shape of result.
type slice struct {
	from   int
	result Signature
}

// Slice takes the features from number from up to, not including, number to out of each
// token's, flattened over their axes:
//
//	y_t = x_t[from:to]
//
// x [T, ...], y [T, to-from].
func (b *Builder) Slice(x *gorgonia.Node, from, to int) *gorgonia.Node {
	k := slice{from: from}
	if x != nil && x.Dims() > 1 {
		s := SignatureOf(x)
		if from < 0 || to <= from || to > s.Width() {
			b.Fail(errors.Errorf("graph: Slice: want features within [0, %d) of x %v, got [%d, %d)", s.Width(), s.Shape, from, to))
			return nil
		}
		k.result = Signature{s.DType, WithTokens(s.Leading(), to-from)}
	}
	return b.Apply(k, x)
}

func (k slice) String() string { return fmt.Sprintf("Slice(from=%d) %v", k.from, k.result.Shape) }

func (k slice) Infer(in []Signature) (Signature, error) {
	if err := WantFloats(in); err != nil {
		return Signature{}, err
	}
	if in[0].Shape.Dims() < 2 {
		return Signature{}, errors.Errorf("x: want shape [tokens, ...], got %v", in[0].Shape)
	}
	return k.result, nil
}

func (slice) Passes() bool { return true }

func (k slice) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, d.ApplyAbsorbing(sliceGrad{from: k.from, x: d.Signature(0)}, d.Gradient()))
	}
}

func (k slice) Run(c *Call) error {
	return Dispatch(c, k, runSlice[float32], runSlice[float64])
}

func runSlice[T kernel.Float](k slice, c *Call) error {
	State[kernel.Columns[T]](c).Take(c.Pool(), Out[T](c), In[T](c, 0), c.Result().Leading(), k.from)
	return nil
}

// sliceGrad is dy in its place among zeros. Inputs: dy and, where dx is to be added to it,
// the gradient that x has from elsewhere.
type sliceGrad struct {
	NoGradient
	from int
	x    Signature
}

func (k sliceGrad) String() string { return fmt.Sprintf("GradX of Slice(from=%d)", k.from) }

func (k sliceGrad) Infer([]Signature) (Signature, error) { return k.x, nil }

func (k sliceGrad) InPlace(i int) bool { return i == 1 }

func (k sliceGrad) Run(c *Call) error {
	return Dispatch(c, k, runSliceGrad[float32], runSliceGrad[float64])
}

func runSliceGrad[T kernel.Float](k sliceGrad, c *Call) error {
	State[kernel.Columns[T]](c).Put(c.Pool(), Out[T](c), In[T](c, 1), In[T](c, 0), k.x.Leading(), k.from)
	return nil
}
