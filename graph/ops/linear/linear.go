// Package linear has matrix products over tokens' features, with a bias or an activation.
package linear

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// Product is a matrix product over each token's flattened features.
type Product struct {
	Transposed bool
	Scale      float64
	add        bool // the product adds to the gradient of x that exists already
	rows       bool // map only the last axis
}

// Options vary Map. The zero value is y = x W.
type Options struct {
	Bias       *gorgonia.Node // [out], or nil
	Transposed bool           // W is stored [out, ...in], as a tied embedding is
	Scale      float64        // factor of x W (muP multiplier); 0 means 1
	// AddGradient is for an x that other nodes read, too: the product that computes x's gradient
	// also adds the gradient from those nodes, which saves a pass. The terms are then rounded in
	// another order.
	AddGradient bool
	// Rows maps each row of a token separately, x [T, ..., in] to y [T, ..., out], instead of
	// flattening all of them.
	Rows bool
}

// Map computes an affine map of each token's features:
//
//	y_t = scale * x_t W + bias
//
// x [T, ...in] is read flattened over its last axes, W is [in, out], y is [T, out].
func Map(b *graph.Builder, x, w *gorgonia.Node, o Options) *gorgonia.Node {
	if o.Scale == 0 {
		o.Scale = 1
	}
	y := b.Apply(Product{o.Transposed, o.Scale, o.AddGradient, o.Rows}, x, w)
	if o.Bias != nil {
		y = Bias(b, y, o.Bias)
	}
	return y
}

// String returns the name with the form of the weight and the scale.
func (k Product) String() string {
	name := "Linear"
	if k.rows {
		name = "LinearRows"
	}
	return fmt.Sprintf("%s(transposed=%t, scale=%g)", name, k.Transposed, k.Scale)
}

// FLOPs counts 2 for each multiply-add.
func (k Product) FLOPs(c graph.Cost) int {
	_, outputs := k.Sides(c.Signature(1))
	return 2 * c.Signature(0).Size() * outputs
}

// Sides returns the two sizes of the weight.
func (k Product) Sides(w graph.Signature) (inputs, outputs int) {
	if k.Transposed {
		return w.Width(), w.Leading()
	}
	return w.Leading(), w.Width()
}

// ReadsWeights tells that the weight, input 1, can be read in fewer bits.
func (k Product) ReadsWeights(i int) (transposed, ok bool) { return k.Transposed, i == 1 }

// Infer checks x [tokens, ...in] and the weight.
func (k Product) Infer(in []graph.Signature) (graph.Signature, error) {
	inputs, outputs := k.Sides(in[1])
	x := in[0].Shape
	width := in[0].Width()
	if k.rows {
		width = x[x.Dims()-1]
	}
	if in[1].Shape.Dims() < 2 || x.Dims() < 2 || width != inputs {
		return graph.Signature{}, errors.Errorf("want x [tokens, %d] for a weight of shape %v, got %v", inputs, in[1].Shape, x)
	}
	if k.rows {
		return graph.Signature{DType: in[0].DType, Shape: append(x[:x.Dims()-1].Clone(), outputs)}, nil
	}
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(in[0].Leading(), outputs)}, nil
}

// VJP makes dx = scale * dy W^T and dW = scale * x^T dy.
func (k Product) VJP(d *graph.Derivative) {
	if d.Wants(0) {
		k.gradX(d)
	}
	if d.Wants(1) {
		d.Make(1, linearGradW{of: k}, d.Input(0), d.Gradient())
	}
}

// gradX makes the gradient of x. If MapActivated or MapSwiGLU made x and nothing else reads it, the
// same pass carries the gradient on through the activation.
func (k Product) gradX(d *graph.Derivative) {
	if x := d.FusibleInput(0); x != nil && k.Scale == 1 {
		switch a := graph.PrimitiveOf(x).(type) {
		case activated:
			d.Make(0, linearGradActivated{of: k, activation: a.Activation}, d.Gradient(), d.Input(1), d.Recomputed(graph.Inputs(x)[0]))
			return
		case gatedValue:
			value, gate := graph.Inputs(x)[0], graph.Inputs(x)[1]
			d.Make(0, linearGradSwiGLU{of: k}, d.Gradient(), d.Input(1), d.Recomputed(value), d.Recomputed(gate))
			return
		}
	}
	if k.add {
		d.MakeAccumulating(linearGradX{of: k}, d.Gradient(), d.Input(1))
	} else {
		d.Make(0, linearGradX{of: k}, d.Gradient(), d.Input(1))
	}
}

// Run runs the op on the CPU.
func (k Product) Run(c *graph.Call) {
	graph.Dispatch(c, k, runLinear, runLinear)
}

func runLinear[T kernel.Float](k Product, c graph.CallOf[T]) {
	inputs, outputs := k.Sides(c.Signature(1))
	rows, ldw := c.Signature(0).Size()/inputs, outputs
	if k.Transposed {
		ldw = inputs
	}
	multiplyWeight(c, k.Transposed, rows, outputs, inputs, k.Scale, 0, sides{lda: inputs, ldb: ldw, ldc: outputs})
}

// linearGradX computes dx = scale * dy W^T. Inputs: dy, W and optionally the gradient of x from its
// other readers, to which dx is added.
type linearGradX struct {
	graph.NoGradient
	of Product
}

func (k linearGradX) String() string { return "GradX of " + k.of.String() }

func (k linearGradX) FLOPs(c graph.Cost) int { // dy W^T
	inputs, _ := k.of.Sides(c.Signature(1))
	return 2 * c.Signature(0).Size() * inputs
}

func (linearGradX) InPlace(i int) bool { return i == 2 }

func (k linearGradX) Run(c *graph.Call) {
	graph.Dispatch(c, k, runLinearGradX, runLinearGradX)
}

func runLinearGradX[T kernel.Float](k linearGradX, c graph.CallOf[T]) {
	inputs, outputs := k.of.Sides(c.Signature(1))
	ldw := outputs
	if k.of.Transposed {
		ldw = inputs
	}
	beta := 0.0
	if c.Inputs() > 2 {
		beta = 1
		c.CopyOut(2)
	}
	multiplyWeight(c, !k.of.Transposed, c.Result().Size()/inputs, inputs, outputs, k.of.Scale, beta, sides{lda: outputs, ldb: ldw, ldc: inputs})
}

// linearGradW computes dW = scale * x^T dy (or its transpose). Inputs: x, dy.
type linearGradW struct {
	graph.NoGradient
	of Product
}

func (k linearGradW) String() string { return "GradW of " + k.of.String() }

func (k linearGradW) FLOPs(c graph.Cost) int { // x^T dy
	_, outputs := k.of.Sides(c.Result())
	return 2 * c.Signature(0).Size() * outputs
}

func (k linearGradW) Accumulates() bool { return true }

func (k linearGradW) Run(c *graph.Call) {
	graph.Dispatch(c, k, runLinearGradW, runLinearGradW)
}

func runLinearGradW[T kernel.Float](k linearGradW, c graph.CallOf[T]) {
	inputs, outputs := k.of.Sides(c.Result())
	left, right := 0, 1 // x [tokens, inputs], dy [tokens, outputs]
	rows, columns := inputs, outputs
	if k.of.Transposed {
		left, right, rows, columns = right, left, outputs, inputs
	}
	beta := 0.0
	if c.Accumulate() {
		beta = 1
	}
	multiply(c, true, false, rows, columns, c.Signature(0).Size()/inputs, k.of.Scale, left, right, beta, sides{lda: rows, ldb: columns, ldc: columns})
}
