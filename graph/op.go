package graph

import (
	"fmt"
	"hash"
	"hash/fnv"
	"time"

	"github.com/chewxy/hm"
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
)

// kind is what one op file provides: what the op is called, what it makes of its
// inputs' types, how it runs and how it differentiates. Op turns a kind into a
// gorgonia.Op; nothing else of the package knows one kind from another.
type kind interface {
	// String names the op and every parameter that changes its result.
	String() string
	// signature checks the inputs and returns the output's type and shape.
	signature(in []signature) (signature, error)
	// differentiable tells whether input i can have a gradient.
	differentiable(i int) bool
	// diff builds the gradient nodes that d asks for.
	diff(d *derivative)
	// run computes the output on the CPU.
	run(c *call) error
}

// Optional abilities of a kind.
type (
	// inPlacer is a kind whose output may share the memory of its input i when nothing
	// else reads that input later.
	inPlacer interface{ inPlace(i int) bool }
	// accumulator is a kind that can add to its output's old content instead of
	// replacing it (call.accumulate), as parameter gradients over micro-batches need.
	accumulator interface{ accumulates() bool }
)

// signature is the static type of a value: Gorgonia's shapes are known when the graph
// is built. A scalar has no dimensions.
type signature struct {
	dtype tensor.Dtype
	shape tensor.Shape
}

func (s signature) hmType() hm.Type {
	if s.scalar() {
		return s.dtype
	}
	return gorgonia.TensorType{Dims: s.shape.Dims(), Of: s.dtype}
}

func (s signature) scalar() bool { return s.shape.Dims() == 0 }

func (s signature) size() int {
	n := 1
	for _, d := range s.shape {
		n *= d
	}
	return n
}

func (s signature) bytes() int { return s.size() * int(s.dtype.Size()) }

// leading is the size of the first axis; width is the size of all the others together.
func (s signature) leading() int {
	if s.scalar() {
		return 1
	}
	return s.shape[0]
}

func (s signature) width() int { return s.size() / max(1, s.leading()) }

func (s signature) String() string { return fmt.Sprintf("%v %v", s.dtype, s.shape) }

func signatureOf(n *gorgonia.Node) signature {
	return signature{dtype: n.Dtype(), shape: n.Shape()}
}

// Op is a node's operation: a kind, the static types around it and the output buffer it
// owns. It implements gorgonia.Op and gorgonia.SDOp.
type Op struct {
	kind
	builder *Builder
	in      []signature
	out     signature
	id      int // position in its graph: two nodes never merge into one

	buffer     buffer
	call       call
	leader     *Op   // set on a companion: the op whose run fills this one's buffer
	companions []*Op // set on a leader
	isGradient bool  // its buffer is a parameter's gradient in a Store
	runs       stopwatch

	from   []*Op       // what makes each input, nil for inputs and stock nodes
	full   bool        // stays 32-bit on a device of precision bf16
	device cuda.Array  // where its output lives on a device
	ranOn  accelerator // the device it last ran on
}

var (
	_ gorgonia.Op   = (*Op)(nil)
	_ gorgonia.SDOp = (*Op)(nil)
)

func newOp(b *Builder, k kind, in []signature) (*Op, error) {
	out, err := k.signature(in)
	if err != nil {
		return nil, err
	}
	if _, err := sizeOf(out.shape); err != nil {
		return nil, err
	}
	op := &Op{kind: k, builder: b, in: in, out: out, id: len(b.g.AllNodes())}
	op.call.op = op
	op.call.args = make([]argument, len(in))
	return op, nil
}

// opOf returns the Op of ours that a node runs, or nil for inputs, stock nodes and nil.
func opOf(n *gorgonia.Node) *Op {
	if n == nil {
		return nil
	}
	if carrier, ok := n.Op().(interface{ residua() *Op }); ok {
		return carrier.residua()
	}
	return nil
}

// nameOf quotes a node's name for a message.
func nameOf(n *gorgonia.Node) string {
	if n == nil {
		return "nil"
	}
	return fmt.Sprintf("%q", n.Name())
}

// residua identifies an op of ours also behind a backend's wrapper.
func (op *Op) residua() *Op { return op }

// Arity returns the number of inputs.
func (op *Op) Arity() int { return len(op.in) }

// Type returns the op's type; it is concrete, since shapes and element types are known
// when the node is made.
func (op *Op) Type() hm.Type {
	types := make([]hm.Type, 0, len(op.in)+1)
	for _, s := range op.in {
		types = append(types, s.hmType())
	}
	return hm.NewFnType(append(types, op.out.hmType())...)
}

// InferShape returns the output's shape.
func (op *Op) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return op.out.shape.Clone(), nil
}

// ReturnsPtr is true: the output is the op's own buffer, reused at each run.
func (op *Op) ReturnsPtr() bool { return true }

// CallsExtern is false.
func (op *Op) CallsExtern() bool { return false }

// OverwritesInput is -1: sharing memory is decided by Program's buffer plan alone.
func (op *Op) OverwritesInput() int { return -1 }

// WriteHash identifies the op: its kind with parameters, and its place in the graph. The
// salt comes first: FNV-1a would carry a collision past any common end.
func (op *Op) WriteHash(h hash.Hash) {
	fmt.Fprintf(h, "residua/%d %s #%d", op.builder.options.salt, op.kind, op.id)
}

// Hashcode is the 32-bit FNV-1a of WriteHash.
func (op *Op) Hashcode() uint32 {
	h := fnv.New32a()
	op.WriteHash(h)
	return h.Sum32()
}

// DiffWRT tells which inputs can have a gradient.
func (op *Op) DiffWRT(inputs int) []bool {
	wrt := make([]bool, inputs)
	for i := range wrt {
		wrt[i] = op.differentiable(i)
	}
	return wrt
}

// SymDiff returns the gradient nodes of the inputs (nil for those that have none).
func (op *Op) SymDiff(inputs gorgonia.Nodes, output, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	d := &derivative{
		b: op.builder, op: op, grad: grad, wanted: op.DiffWRT(len(inputs)),
		inputs: func(i int) *gorgonia.Node { return inputs[i] },
		output: func() *gorgonia.Node { return output },
		absorb: func(int) *gorgonia.Node { return nil },
		only:   func(int) *gorgonia.Node { return nil },
		value:  func(n *gorgonia.Node) *gorgonia.Node { return n },
		grads:  make(gorgonia.Nodes, len(inputs)),
	}
	op.diff(d)
	d.separate()
	if err := op.builder.Err(); err != nil {
		return nil, errors.Wrapf(err, "gradient of %s", op.kind)
	}
	return d.grads, nil
}

// Do runs the op on the CPU into its own buffer. A panic below becomes an error: the
// tape machine runs ops in a goroutine of its own, where nobody could recover it.
func (op *Op) Do(values ...gorgonia.Value) (out gorgonia.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, errors.Errorf("%s: %v", op.kind, r)
		}
		if err != nil {
			op.builder.runtime.failure = err
		}
	}()
	if op.builder.runtime.profile {
		defer op.runs.add(time.Now())
	}
	c := &op.call
	if err := c.bind(values); err != nil {
		return nil, errors.Wrapf(err, "%s", op.kind)
	}
	if err := op.run(c); err != nil {
		return nil, errors.Wrapf(err, "%s", op.kind)
	}
	return c.result, nil
}

// derivative is what a kind's diff works on: the op's inputs, its output and the
// gradient that arrives at it. Inputs and output are asked for by function, so that
// recomputation rebuilds only what a gradient really reads.
type derivative struct {
	b      *Builder
	op     *Op
	grad   *gorgonia.Node
	inputs func(i int) *gorgonia.Node
	output func() *gorgonia.Node
	wanted []bool
	grads  gorgonia.Nodes
	// absorb takes over the gradient that input i has from elsewhere so far, nil if none:
	// a kind that can add it to its own in the same pass sets the sum.
	absorb func(i int) *gorgonia.Node
	// only returns input i's node if it is made by an op of ours and nothing else reads
	// it, else nil; value is what the backward pass reads in the place of a forward node.
	only  func(i int) *gorgonia.Node
	value func(n *gorgonia.Node) *gorgonia.Node
}

// set stores the gradient of input i.
func (d *derivative) set(i int, grad *gorgonia.Node) { d.grads[i] = grad }
