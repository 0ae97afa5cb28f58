package graph

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Primitive is what an op is, apart from its place in a graph: what it is called, what it makes
// of its inputs' types and shapes, how it runs and how it differentiates (its vector-Jacobian
// product). Builder.Apply makes a node of one. The ops of graph/ops are Primitives like any
// other; nothing in a Program knows one from another.
//
// A Primitive is a value without state: what a run needs is kept by its node (see State), and
// the same Primitive may be applied again, as recomputation does.
type Primitive interface {
	// String is the name and, in brackets, every parameter that changes the result: two
	// primitives of one String are one.
	String() string
	// Infer checks the inputs' shapes and returns the output's type and shape. Inputs are floats of one
	// type, but for those of an IntReader.
	Infer(in []Signature) (Signature, error)
	// VJP builds, for each input that d wants, the gradient of the loss with respect to it,
	// a node of the input's shape, from the gradient that arrives at the output. Int32 inputs
	// have none.
	VJP(d *Derivative)
	// Run computes the output on the CPU (see Dispatch); Fail says what went wrong.
	Run(c *Call)
}

// Optional abilities of a Primitive.
type (
	// InPlacer is a Primitive whose output may share the memory of its input i when nothing
	// else reads that input later.
	InPlacer interface{ InPlace(i int) bool }
	// IntReader is a Primitive some of whose inputs hold Int32.
	IntReader interface{ ReadsInts(i int) bool }
	// SecondaryInPlacer is a Primitive whose secondary of number n may, likewise, share the memory
	// of its input i.
	SecondaryInPlacer interface{ SecondaryInPlace(n, i int) bool }
	// Differentiable is a Primitive some of whose inputs of floats have no gradient.
	Differentiable interface{ Differentiable(i int) bool }
	// Accumulator is a Primitive that can add to its output's old content instead of
	// replacing it (Call.Accumulate), as parameter gradients over micro-batches need.
	Accumulator interface{ Accumulates() bool }
	// ByRows is a Primitive that reads and writes tensors of 16 bits a few elements at a time (CallOf.Rows, CallOf.RowsOut), and
	// so needs no float32 copies of them.
	ByRows interface{ ByRows() bool }
)

// MadeByPrimary is embedded in a Primitive whose node is a secondary (Builder.Secondary): its primary's
// run has made it.
type MadeByPrimary struct{}

// Run does nothing.
func (MadeByPrimary) Run(*Call) {}

// Launch does nothing.
func (MadeByPrimary) Launch(*DeviceCall) {}

// NoGradient is embedded in a Primitive that is not differentiated, such as another's
// gradient.
type NoGradient struct{}

// Infer makes a gradient like its first input, where Derivative.Make does not say what it is like.
func (NoGradient) Infer(in []Signature) (Signature, error) { return in[0], nil }

// Differentiable is false.
func (NoGradient) Differentiable(int) bool { return false }

// VJP builds nothing.
func (NoGradient) VJP(*Derivative) {}

// Signature is the static type of a value: Gorgonia's shapes are known when the graph
// is built. A scalar has no dimensions.
type Signature struct {
	DType tensor.Dtype
	Shape tensor.Shape
}

// Derivative is what VJP works on: the op's inputs, its output and the gradient that arrives
// at it.
type Derivative struct {
	b    *Builder
	op   *Op
	grad *gorgonia.Node
	// Inputs and output are asked for by function, so that recomputation rebuilds only what
	// a gradient really reads.
	inputs func(i int) *gorgonia.Node
	output func() *gorgonia.Node
	wanted []bool
	grads  gorgonia.Nodes
	// These are what the methods of the same names do: Program and gorgonia.Grad differ in them.
	takeAccumulated func(i int) *gorgonia.Node
	fusible         func(i int) *gorgonia.Node
	recomputed      func(n *gorgonia.Node) *gorgonia.Node
}

// Builder is what gradient nodes are made with.
func (d *Derivative) Builder() *Builder { return d.b }

// Apply makes a gradient node, as Builder.Apply does.
func (d *Derivative) Apply(k Primitive, inputs ...*gorgonia.Node) *gorgonia.Node {
	return d.b.Apply(k, inputs...)
}

// Make makes the gradient with respect to input i, a node of that input's type and shape whatever k would
// infer, and sets it.
func (d *Derivative) Make(i int, k Primitive, inputs ...*gorgonia.Node) *gorgonia.Node {
	grad := d.b.apply(k, &d.op.in[i], inputs)
	d.Set(i, grad)
	return grad
}

// Inputs is the number of the op's inputs.
func (d *Derivative) Inputs() int { return len(d.op.in) }

// Signature is that of input i; asking for it makes nothing live.
func (d *Derivative) Signature(i int) Signature { return d.op.in[i] }

// Wants tells whether the gradient of input i is needed.
func (d *Derivative) Wants(i int) bool { return d.wanted[i] }

// Input is the op's input i; asking for it makes its value live until the backward pass.
func (d *Derivative) Input(i int) *gorgonia.Node { return d.inputs(i) }

// Output is the op's output, likewise.
func (d *Derivative) Output() *gorgonia.Node { return d.output() }

// Gradient is the gradient of the loss with respect to the output, of the output's shape.
func (d *Derivative) Gradient() *gorgonia.Node { return d.grad }

// Set stores the gradient with respect to input i.
func (d *Derivative) Set(i int, grad *gorgonia.Node) { d.grads[i] = grad }

// SetSecondary stores as gradient of input i, where it is wanted, the secondary of number n that
// primary's run also computes (CallOf.SecondaryOut), and calls it by name.
func (d *Derivative) SetSecondary(i int, primary *gorgonia.Node, n int, name string) {
	if d.Wants(i) {
		d.Set(i, d.b.secondary(primary, n, name, d.op.in[i].Shape, nil))
	}
}

// SetFloat32 is SetSecondary of a gradient that stays in 32 bits on a device, as coefficients
// and what they are made of do.
func (d *Derivative) SetFloat32(i int, primary *gorgonia.Node, n int, name string) {
	d.SetSecondary(i, primary, n, name)
	keepFloat32(gorgonia.Nodes{d.grads[i]})
}

// SetScaled is SetSecondary times the gradient that arrives at the op, a scalar: primary is a
// loss that has computed its own gradients.
func (d *Derivative) SetScaled(i int, primary *gorgonia.Node, n int, name string) {
	factor := d.grad
	if factor == d.b.implicitLossGradient {
		factor = nil
	}
	if d.Wants(i) {
		d.Set(i, d.b.secondary(primary, n, name, d.op.in[i].Shape, factor))
	}
}

// TakeAccumulated returns the gradient that input i has received from its other readers so far,
// nil if none, and removes it from the sum: a Primitive that can add it to its own gradient in the
// same pass sets the sum of both.
func (d *Derivative) TakeAccumulated(i int) *gorgonia.Node { return d.takeAccumulated(i) }

// MakeAccumulating makes the gradient with respect to input 0, with what TakeAccumulated(0) returns,
// if anything, as a last input to be added.
func (d *Derivative) MakeAccumulating(k Primitive, inputs ...*gorgonia.Node) *gorgonia.Node {
	if addend := d.takeAccumulated(0); addend != nil {
		inputs = append(inputs, addend)
	}
	return d.Make(0, k, inputs...)
}

// FusibleInput returns input i's node if a Primitive makes it and only this op reads it, else nil:
// the gradient pass of that Primitive may then be fused into this op's, which sets the gradient of
// its inputs, reading them by Recomputed.
func (d *Derivative) FusibleInput(i int) *gorgonia.Node { return d.fusible(i) }

// Recomputed returns what the backward pass reads in the place of a forward node that is no input
// of the op: the node itself, or its recomputation.
func (d *Derivative) Recomputed(n *gorgonia.Node) *gorgonia.Node { return d.recomputed(n) }
