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
	result signature
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
		s := signatureOf(x)
		if from < 0 || to <= from || to > s.width() {
			b.fail(errors.Errorf("graph: Slice: want features within [0, %d) of x %v, got [%d, %d)", s.width(), s.shape, from, to))
			return nil
		}
		k.result = signature{s.dtype, withTokens(s.leading(), to-from)}
	}
	return b.apply(k, x)
}

func (k slice) String() string { return fmt.Sprintf("Slice(from=%d) %v", k.from, k.result.shape) }

func (k slice) signature(in []signature) (signature, error) {
	if err := wantFloats(in); err != nil {
		return signature{}, err
	}
	if in[0].shape.Dims() < 2 {
		return signature{}, errors.Errorf("x: want shape [tokens, ...], got %v", in[0].shape)
	}
	return k.result, nil
}

func (slice) differentiable(int) bool { return true }

func (k slice) diff(d *derivative) {
	if d.wanted[0] {
		d.set(0, d.b.applyAbsorbing(d, sliceGrad{k.from, d.op.in[0]}, d.grad))
	}
}

func (k slice) run(c *call) error {
	if c.double() {
		return runSlice[float64](k, c)
	}
	return runSlice[float32](k, c)
}

func runSlice[T kernel.Float](k slice, c *call) error {
	state[kernel.Columns[T]](c).Take(c.pool(), out[T](c), in[T](c, 0), c.op.out.leading(), k.from)
	return nil
}

// sliceGrad is dy in its place among zeros. Inputs: dy and, where dx is to be added to it,
// the gradient that x has from elsewhere.
type sliceGrad struct {
	from int
	x    signature
}

func (k sliceGrad) String() string { return fmt.Sprintf("GradX of Slice(from=%d)", k.from) }

func (k sliceGrad) signature([]signature) (signature, error) { return k.x, nil }

func (k sliceGrad) differentiable(int) bool { return false }

func (k sliceGrad) inPlace(i int) bool { return i == 1 }

func (k sliceGrad) diff(*derivative) {}

func (k sliceGrad) run(c *call) error {
	if c.double() {
		return runSliceGrad[float64](k, c)
	}
	return runSliceGrad[float32](k, c)
}

func runSliceGrad[T kernel.Float](k sliceGrad, c *call) error {
	state[kernel.Columns[T]](c).Put(c.pool(), out[T](c), optional[T](c, 1), in[T](c, 0), k.x.leading(), k.from)
	return nil
}
