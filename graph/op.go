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
	"github.com/residua-go/residua/graph/kernel"
)

func (s Signature) hmType() hm.Type {
	if s.Scalar() {
		return s.DType
	}
	return gorgonia.TensorType{Dims: s.Shape.Dims(), Of: s.DType}
}

// Scalar tells whether s has no dimensions.
func (s Signature) Scalar() bool { return s.Shape.Dims() == 0 }

// Size returns the number of elements.
func (s Signature) Size() int {
	n := 1
	for _, d := range s.Shape {
		n *= d
	}
	return n
}

// Bytes returns the memory that the elements take on the CPU.
func (s Signature) Bytes() int { return s.Size() * int(s.DType.Size()) }

// Leading returns the size of the first axis, the number of tokens.
func (s Signature) Leading() int {
	if s.Scalar() {
		return 1
	}
	return s.Shape[0]
}

// Width returns the number of entries of a token: the product of all axes but the first.
func (s Signature) Width() int { return s.Size() / max(1, s.Leading()) }

// String formats the signature, as in "float32 (16, 384)".
func (s Signature) String() string { return fmt.Sprintf("%v %v", s.DType, s.Shape) }

// SignatureOf returns the type and shape of a node's value.
func SignatureOf(n *gorgonia.Node) Signature {
	return Signature{DType: n.Dtype(), Shape: n.Shape()}
}

// Op is a node's operation: a Primitive, the signatures of its inputs and output, and the output
// buffer, which it owns. It implements gorgonia.Op and gorgonia.SDOp.
type Op struct {
	Primitive
	builder *Builder
	in      []Signature
	out     Signature
	id      int // position in its graph, by which Gorgonia never merges two nodes

	buffer      buffer
	call        Call
	primary     *Op    // set on a secondary: the op whose run fills this one's buffer
	secondaries []*Op  // set on a primary
	follower    *Op    // the op that its run may compute, too (see Fuser); nil: none
	fused       bool   // set on a follower: the last run of the op before it has computed it
	gradientOf  *Param // the parameter whose gradient in the Store is this op's buffer; nil: none
	runs        stopwatch

	weights      []*kernel.Weights // inputs read in fewer bits, by number of the input; nil: none
	producers    []*Op             // the ops that make the inputs; nil for inputs of the graph and stock nodes
	parameters   []bool            // whether each input is a parameter, in precision BF16 on the CPU
	packed       bool              // its output takes 16 bits in memory, in half
	half         []kernel.BFloat16
	keepsFloat32 bool          // stays 32-bit on a device of precision bf16
	device       cuda.Array    // where its output lives on a device
	ranOn        cuda.Executor // the device it last ran on
}

var (
	_ gorgonia.Op   = (*Op)(nil)
	_ gorgonia.SDOp = (*Op)(nil)
)

func newOp(b *Builder, k Primitive, like *Signature, in []Signature) (*Op, error) {
	if like == nil {
		if err := checkTypes(k, in); err != nil {
			return nil, err
		}
		out, err := k.Infer(in)
		if err != nil {
			return nil, err
		}
		like = &out
	}
	if _, err := sizeOf(like.Shape); err != nil {
		return nil, err
	}
	op := &Op{Primitive: k, builder: b, in: in, out: *like, id: len(b.g.AllNodes())}
	op.call.op = op
	op.call.args = make([]argument, len(in))
	return op, nil
}

// opOf returns a node's Op; nil for inputs, stock nodes and nil.
func opOf(n *gorgonia.Node) *Op {
	if n == nil {
		return nil
	}
	if carrier, ok := n.Op().(interface{ residua() *Op }); ok {
		return carrier.residua()
	}
	return nil
}

// PrimitiveOf returns the Primitive that a node computes; nil for inputs, stock nodes and nil.
func PrimitiveOf(n *gorgonia.Node) Primitive {
	if op := opOf(n); op != nil {
		return op.Primitive
	}
	return nil
}

// NameOf returns a node's name in quotes, for messages.
func NameOf(n *gorgonia.Node) string {
	if n == nil {
		return "nil"
	}
	return fmt.Sprintf("%q", n.Name())
}

// residua returns the op itself. A wrapper for a device has the method too, so that opOf finds the
// op.
func (op *Op) residua() *Op { return op }

// Arity returns the number of inputs.
func (op *Op) Arity() int { return len(op.in) }

// Type returns the op's type. It is concrete, since shapes and element types are known when the
// node is made.
func (op *Op) Type() hm.Type {
	types := make([]hm.Type, 0, len(op.in)+1)
	for _, s := range op.in {
		types = append(types, s.hmType())
	}
	return hm.NewFnType(append(types, op.out.hmType())...)
}

// InferShape returns the output's shape.
func (op *Op) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return op.out.Shape.Clone(), nil
}

// ReturnsPtr returns true: the output is the op's own buffer, reused in each run.
func (op *Op) ReturnsPtr() bool { return true }

// CallsExtern returns false.
func (op *Op) CallsExtern() bool { return false }

// OverwritesInput returns -1: only Program's buffer plan decides which ops share memory.
func (op *Op) OverwritesInput() int { return -1 }

// WriteHash writes what identifies the op: its Primitive with parameters, and its place in the
// graph. The salt comes first, since in FNV-1a two inputs that collide still collide after any
// common suffix.
func (op *Op) WriteHash(h hash.Hash) {
	fmt.Fprintf(h, "residua/%d %s #%d", op.builder.options.salt, op.Primitive, op.id)
}

// Hashcode returns the 32-bit FNV-1a hash of what WriteHash writes.
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

func (op *Op) differentiable(i int) bool {
	if op.in[i].DType == tensor.Int32 {
		return false
	}
	k, ok := op.Primitive.(Differentiable)
	return !ok || k.Differentiable(i)
}

// SymDiff returns the gradient nodes of the inputs (nil for those that have none).
func (op *Op) SymDiff(inputs gorgonia.Nodes, output, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	d := &Derivative{
		b: op.builder, op: op, grad: grad, wanted: op.DiffWRT(len(inputs)),
		inputs:          func(i int) *gorgonia.Node { return inputs[i] },
		output:          func() *gorgonia.Node { return output },
		takeAccumulated: func(int) *gorgonia.Node { return nil },
		hold:            func(int, any) bool { return false },
		fusible:         func(int) *gorgonia.Node { return nil },
		recomputed:      func(n *gorgonia.Node) *gorgonia.Node { return n },
		grads:           make(gorgonia.Nodes, len(inputs)),
	}
	op.VJP(d)
	d.separate()
	if err := op.builder.Err(); err != nil {
		return nil, errors.Wrapf(err, "gradient of %s", op.Primitive)
	}
	return d.grads, nil
}

// Do runs the op on the CPU, into its own buffer. It turns a panic into an error, because the tape
// machine runs ops in a goroutine in which its caller could not recover.
func (op *Op) Do(values ...gorgonia.Value) (out gorgonia.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, errors.Errorf("%s: %v", op.Primitive, r)
		}
		if err != nil {
			op.builder.runtime.failure = err
		}
	}()
	if err := op.builder.runtime.interrupted(); err != nil {
		return nil, err
	}
	if op.builder.runtime.profile {
		pool := op.builder.runtime.workers()
		pool.BeginRun()
		defer op.runs.add(time.Now(), pool)
	}
	c := &op.call
	if err := c.bind(values); err != nil {
		return nil, errors.Wrapf(err, "%s", op.Primitive)
	}
	c.err = nil
	op.Run(c)
	if len(c.written) > 0 {
		c.round()
	}
	if final := op.builder.runtime.final; final != nil && op.gradientOf != nil && c.err == nil {
		final(op.gradientOf)
	}
	return c.result, errors.Wrapf(c.err, "%s", op.Primitive)
}
