package graph

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Primitive defines an op independently of its place in a graph: its name, the type and shape that
// it computes from its inputs' types and shapes, how it runs and how it differentiates (its
// vector-Jacobian product). Builder.Apply makes a node from one. The ops of graph/ops are ordinary
// Primitives; a Program treats all Primitives alike.
//
// A Primitive is a value without state: its node keeps what a run needs (see State), and the same
// Primitive may be applied again, as recomputation does.
type Primitive interface {
	// String returns the name and, in brackets, every parameter that changes the result: two
	// primitives with the same String are the same.
	String() string
	// Infer checks the inputs' shapes and returns the output's type and shape. All inputs are
	// floats of one type, except those that an IntReader reads as Int32.
	Infer(in []Signature) (Signature, error)
	// VJP builds the gradient of the loss with respect to each input that d wants, a node of the
	// input's shape, from the gradient that arrives at the output. Int32 inputs have no gradient.
	VJP(d *Derivative)
	// Run computes the output on the CPU (see Dispatch). It reports an error by Call.Fail.
	Run(c *Call)
}

// A Primitive may also implement these interfaces.
type (
	// InPlacer is a Primitive whose output may share the memory of its input i if no later node
	// reads that input.
	InPlacer interface{ InPlace(i int) bool }
	// IntReader is a Primitive with some Int32 inputs.
	IntReader interface{ ReadsInts(i int) bool }
	// SecondaryInPlacer is a Primitive whose secondary number n may, in the same way, share the
	// memory of input i.
	SecondaryInPlacer interface{ SecondaryInPlace(n, i int) bool }
	// Holder is a Primitive whose readers may leave terms of its output's gradient to it
	// (Derivative.Hold): its own gradient computes them, too. Holds tells whether it takes the
	// given term in addition to those that it already holds.
	Holder interface {
		Holds(held []any, term any) bool
	}
	// Differentiable is a Primitive for which some float inputs have no gradient.
	Differentiable interface{ Differentiable(i int) bool }
	// Accumulator is a Primitive that can add to its output's old content instead of replacing it
	// (Call.Accumulate), as gradients summed over micro-batches require.
	Accumulator interface{ Accumulates() bool }
	// ByRows is a Primitive that reads and writes 16-bit tensors a few elements at a time
	// (CallOf.Rows, CallOf.RowsOut), and so needs no float32 copies of them.
	ByRows interface{ ByRows() bool }
	// Recomputable is a Primitive whose output one pass over its inputs computes again, as norms
	// and activations do. Again makes a node of the same bits; RecomputeCheap calls it in the
	// backward pass instead of keeping the output.
	Recomputable interface {
		Again(b *Builder, inputs gorgonia.Nodes) *gorgonia.Node
	}
)

// MadeByPrimary is embedded in the Primitive of a secondary node (Builder.Secondary), which has
// nothing to run: its primary's run computes its output.
type MadeByPrimary struct{}

// Run does nothing.
func (MadeByPrimary) Run(*Call) {}

// Launch does nothing.
func (MadeByPrimary) Launch(*DeviceCall) {}

// NoGradient is embedded in a Primitive that is not differentiated, such as another's
// gradient.
type NoGradient struct{}

// Infer returns the signature of the first input. Derivative.Make overrides it.
func (NoGradient) Infer(in []Signature) (Signature, error) { return in[0], nil }

// Differentiable returns false.
func (NoGradient) Differentiable(int) bool { return false }

// VJP builds nothing.
func (NoGradient) VJP(*Derivative) {}

// Signature is the static type of a value: its element type and its shape, which in Gorgonia is
// known when the graph is built. A scalar has no dimensions.
type Signature struct {
	DType tensor.Dtype
	Shape tensor.Shape
}

// Derivative is what VJP works with: the op's inputs, its output and the gradient that arrives at
// it.
type Derivative struct {
	b    *Builder
	op   *Op
	grad *gorgonia.Node
	// inputs and output are functions, so that recomputation rebuilds only the values that a
	// gradient reads.
	inputs func(i int) *gorgonia.Node
	output func() *gorgonia.Node
	wanted []bool
	grads  gorgonia.Nodes
	// These do the work of the methods of the same names; Program and gorgonia.Grad supply
	// different ones.
	takeAccumulated func(i int) *gorgonia.Node
	hold            func(i int, term any) bool
	held            []any
	fusible         func(i int) *gorgonia.Node
	recomputed      func(n *gorgonia.Node) *gorgonia.Node
}

// Builder returns the builder that makes the gradient nodes.
func (d *Derivative) Builder() *Builder { return d.b }

// Apply makes a gradient node, as Builder.Apply does.
func (d *Derivative) Apply(k Primitive, inputs ...*gorgonia.Node) *gorgonia.Node {
	return d.b.Apply(k, inputs...)
}

// Make makes a node of k as the gradient with respect to input i and sets it. The node has that
// input's type and shape, whatever k would infer.
func (d *Derivative) Make(i int, k Primitive, inputs ...*gorgonia.Node) *gorgonia.Node {
	grad := d.b.apply(k, &d.op.in[i], inputs)
	d.Set(i, grad)
	return grad
}

// Inputs returns the number of the op's inputs.
func (d *Derivative) Inputs() int { return len(d.op.in) }

// Signature returns the signature of input i. Unlike Input, it does not keep the input's value for
// the backward pass.
func (d *Derivative) Signature(i int) Signature { return d.op.in[i] }

// Wants tells whether the gradient of input i is needed.
func (d *Derivative) Wants(i int) bool { return d.wanted[i] }

// Input returns the op's input i. The input's value is then kept for the backward pass.
func (d *Derivative) Input(i int) *gorgonia.Node { return d.inputs(i) }

// Output returns the op's output. Its value is then kept for the backward pass.
func (d *Derivative) Output() *gorgonia.Node { return d.output() }

// Gradient returns the gradient of the loss with respect to the output; it has the output's shape.
func (d *Derivative) Gradient() *gorgonia.Node { return d.grad }

// Set stores the gradient with respect to input i.
func (d *Derivative) Set(i int, grad *gorgonia.Node) { d.grads[i] = grad }

// SetSecondary sets the gradient of input i to a new node with the given name, secondary number n
// of primary: primary's run computes it (CallOf.SecondaryOut). If that gradient is not wanted, it
// does nothing.
func (d *Derivative) SetSecondary(i int, primary *gorgonia.Node, n int, name string) {
	if d.Wants(i) {
		d.SetHeld(i, primary, n, name)
	}
}

// SetHeld does what SetSecondary does, but also for an input that has no gradient according to
// Differentiable. It serves an input that a secondary of the op reads, too, if that secondary has
// left the gradient to the op (Hold).
func (d *Derivative) SetHeld(i int, primary *gorgonia.Node, n int, name string) {
	d.Set(i, d.b.secondary(primary, n, name, d.op.in[i].Shape, nil))
}

// SetFloat32 does what SetSecondary does for a gradient that stays in 32 bits on a device, such as
// the gradient of coefficients and of the values that they are computed from.
func (d *Derivative) SetFloat32(i int, primary *gorgonia.Node, n int, name string) {
	d.SetSecondary(i, primary, n, name)
	keepFloat32(gorgonia.Nodes{d.grads[i]})
}

// SetScaled does what SetSecondary does and multiplies by the gradient that arrives at the op, a
// scalar. It is for a loss that computes its own gradients, as primary.
func (d *Derivative) SetScaled(i int, primary *gorgonia.Node, n int, name string) {
	factor := d.grad
	if factor == d.b.implicitLossGradient {
		factor = nil
	}
	if d.Wants(i) {
		d.Set(i, d.b.secondary(primary, n, name, d.op.in[i].Shape, factor))
	}
}

// TakeAccumulated returns the gradient that input i has received from its other readers so
// far, nil if none, and removes it from the sum. A Primitive that can add it to its own
// gradient in the same pass then sets the sum of both.
func (d *Derivative) TakeAccumulated(i int) *gorgonia.Node { return d.takeAccumulated(i) }

// Hold leaves a term of input i's gradient to the Holder that makes the input; that op's gradient
// then computes the term in its own pass. Hold returns false and leaves nothing if no Holder that
// takes the term makes the input, or if the input has no gradient yet from its other readers.
func (d *Derivative) Hold(i int, term any) bool { return d.hold(i, term) }

// Held returns the terms that the output's readers have left.
func (d *Derivative) Held() []any { return d.held }

// MakeAccumulating makes the gradient with respect to input 0. If TakeAccumulated(0) returns a
// gradient, it is appended to the inputs of k, which adds it.
func (d *Derivative) MakeAccumulating(k Primitive, inputs ...*gorgonia.Node) *gorgonia.Node {
	if addend := d.takeAccumulated(0); addend != nil {
		inputs = append(inputs, addend)
	}
	return d.Make(0, k, inputs...)
}

// FusibleInput returns input i's node if a Primitive makes it and only this op reads it, else nil.
// VJP may then set, as input i's gradient, a node that also computes the gradient of that
// Primitive, whose inputs it reads by Recomputed. That Primitive's VJP must recognise such a node
// and pass it on.
func (d *Derivative) FusibleInput(i int) *gorgonia.Node { return d.fusible(i) }

// Recomputed returns the node to read in the backward pass instead of n, a forward node that is not
// an input of the op: n itself or its recomputation.
func (d *Derivative) Recomputed(n *gorgonia.Node) *gorgonia.Node { return d.recomputed(n) }
