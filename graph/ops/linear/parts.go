package linear

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// parts computes a matrix product whose columns read different inputs.
type parts struct{ widths []int }

// Parts computes a linear map of several inputs of each token, each by its own columns of the
// weight:
//
//	y_t = [x_t[0] W_0 | x_t[1] W_1 | ...],   W = [W_0 | W_1 | ...]
//
// as for queries, keys and values that each read the stream differently. x [T, n, in], W [in, out]
// where out is the sum of the n widths, y [T, out]; no part is copied.
func Parts(b *graph.Builder, x, w *gorgonia.Node, widths ...int) *gorgonia.Node {
	return b.Apply(parts{widths}, x, w)
}

func (k parts) String() string { return fmt.Sprintf("LinearParts(widths=%v)", k.widths) }

// FLOPs counts 2 for each multiply-add.
func (k parts) FLOPs(c graph.Cost) int { return 2 * c.Signature(0).Leading() * c.Signature(1).Size() }

func (k parts) Infer(in []graph.Signature) (graph.Signature, error) {
	if err := graph.WantDims(in[1], 2, "w", "[in, out]"); err != nil {
		return graph.Signature{}, err
	}
	inputs, outputs, sum := in[1].Leading(), in[1].Width(), 0
	for _, width := range k.widths {
		if width < 1 {
			return graph.Signature{}, errors.Errorf("widths: want >= 1 each, got %v", k.widths)
		}
		sum += width
	}
	if sum != outputs {
		return graph.Signature{}, errors.Errorf("widths: want a sum of %d, the columns of the weight, got %v", outputs, k.widths)
	}
	if x := in[0].Shape; x.Dims() != 3 || x[1] != len(k.widths) || x[2] != inputs {
		return graph.Signature{}, errors.Errorf("x: want shape [tokens, %d, %d] for a weight of shape %v, got %v", len(k.widths), inputs, in[1].Shape, x)
	}
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(in[0].Leading(), outputs)}, nil
}

// each calls f with the first column and the width of each part.
func (k parts) each(f func(i, from, width int)) {
	from := 0
	for i, width := range k.widths {
		f(i, from, width)
		from += width
	}
}

func (k parts) VJP(d *graph.Derivative) {
	if d.Wants(0) {
		d.Make(0, partsGradX{of: k}, d.Gradient(), d.Input(1))
	}
	if d.Wants(1) {
		d.Make(1, partsGradW{of: k}, d.Input(0), d.Gradient())
	}
}

func (k parts) Run(c *graph.Call) {
	graph.Dispatch(c, k, runParts, runParts)
}

func runParts[T kernel.Float](k parts, c graph.CallOf[T]) {
	inputs, outputs := c.Signature(1).Leading(), c.Signature(1).Width()
	k.each(func(i, from, width int) {
		multiply(c, false, false, c.Signature(0).Leading(), width, inputs, 1, 0, 1, 0,
			sides{a: i * inputs, lda: c.Signature(0).Width(), b: from, ldb: outputs, c: from, ldc: outputs})
	})
}

// partsGradX computes dx = [dy[0] W_0^T | dy[1] W_1^T | ...]. Inputs: dy, W.
type partsGradX struct {
	graph.NoGradient
	of parts
}

func (k partsGradX) String() string { return "GradX of " + k.of.String() }

func (partsGradX) FLOPs(c graph.Cost) int {
	return 2 * c.Signature(0).Leading() * c.Signature(1).Size()
}

func (k partsGradX) Run(c *graph.Call) {
	graph.Dispatch(c, k, runPartsGradX, runPartsGradX)
}

func runPartsGradX[T kernel.Float](k partsGradX, c graph.CallOf[T]) {
	inputs, outputs := c.Signature(1).Leading(), c.Signature(1).Width()
	k.of.each(func(i, from, width int) {
		multiply(c, false, true, c.Result().Leading(), inputs, width, 1, 0, 1, 0,
			sides{a: from, lda: outputs, b: from, ldb: outputs, c: i * inputs, ldc: c.Result().Width()})
	})
}

// partsGradW computes dW: x[i]^T dy[i] in the columns of part i. Inputs: x, dy.
type partsGradW struct {
	graph.NoGradient
	of parts
}

func (k partsGradW) String() string { return "GradW of " + k.of.String() }

func (k partsGradW) FLOPs(c graph.Cost) int { return 2 * c.Signature(0).Leading() * c.Result().Size() }

func (k partsGradW) Accumulates() bool { return true }

func (k partsGradW) Run(c *graph.Call) {
	graph.Dispatch(c, k, runPartsGradW, runPartsGradW)
}

func runPartsGradW[T kernel.Float](k partsGradW, c graph.CallOf[T]) {
	inputs, outputs := c.Result().Leading(), c.Result().Width()
	beta := 0.0
	if c.Accumulate() {
		beta = 1
	}
	k.of.each(func(i, from, width int) {
		multiply(c, true, false, inputs, width, c.Signature(0).Leading(), 1, 0, 1, beta,
			sides{a: i * inputs, lda: c.Signature(0).Width(), b: from, ldb: outputs, c: from, ldc: outputs})
	})
}
