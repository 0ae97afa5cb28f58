package graph

import (
	"slices"
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// buffer is the memory that an op's output lives in. Without a Program the op allocates
// it at its first run; a Program binds it to a slot of its arena or to a Store's gradient.
type buffer struct {
	data  unsafe.Pointer
	value gorgonia.Value // the *tensor.Dense or scalar around data
}

// bindTo makes the buffer live in t's memory.
func (b *buffer) bindTo(t *tensor.Dense) {
	b.value, b.data = t, dataOf(t)
}

// ensure allocates the buffer if necessary, and restores its tensor if a stock node has reshaped or
// transposed it in place.
func (b *buffer) ensure(s Signature) {
	if s.Scalar() {
		if b.value == nil {
			b.value, b.data = newScalar(s.DType)
		}
		return
	}
	dense, ok := b.value.(*tensor.Dense)
	if ok && rowMajor(dense) && slices.Equal(dense.Shape(), s.Shape) {
		return
	}
	if b.data == nil {
		dense = tensor.New(tensor.Of(s.DType), tensor.WithShape(s.Shape...))
		b.value, b.data = guard(dense), dataOf(dense)
		return
	}
	b.value = denseAt(b.data, s)
}

// guard returns t marked as a view, because a stock Reshape copies a view. Of any other tensor,
// Reshape returns an alias that Gorgonia takes for a separate value: a stock Add after it would
// write into our output while other nodes still need it.
func guard(t *tensor.Dense) *tensor.Dense {
	shape := t.Shape().Clone()
	view, err := t.Slice()
	if err != nil {
		return t
	}
	dense, ok := view.(*tensor.Dense)
	if !ok || dense.Reshape(shape...) != nil { // a slice of one element has lost its axes
		return t
	}
	return dense
}

// dataOf returns the address of a tensor's first element.
func dataOf(t *tensor.Dense) unsafe.Pointer {
	switch t.Dtype() {
	case tensor.Float64:
		return unsafe.Pointer(unsafe.SliceData(t.Float64s()))
	case tensor.Int32:
		return unsafe.Pointer(unsafe.SliceData(t.Int32s()))
	default:
		return unsafe.Pointer(unsafe.SliceData(t.Float32s()))
	}
}

// denseAt wraps existing memory as a tensor.
func denseAt(p unsafe.Pointer, s Signature) *tensor.Dense {
	var backing any
	switch s.DType {
	case tensor.Float64:
		backing = unsafe.Slice((*float64)(p), s.Size())
	case tensor.Int32:
		backing = unsafe.Slice((*int32)(p), s.Size())
	default:
		backing = unsafe.Slice((*float32)(p), s.Size())
	}
	return guard(tensor.New(tensor.WithShape(s.Shape...), tensor.WithBacking(backing)))
}

func newScalar(dt tensor.Dtype) (gorgonia.Value, unsafe.Pointer) {
	if dt == tensor.Float64 {
		v := gorgonia.NewF64(0)
		return v, unsafe.Pointer(v)
	}
	v := gorgonia.NewF32(0)
	return v, unsafe.Pointer(v)
}

// rowMajor tells whether a tensor's elements lie in memory in row-major order without
// gaps, so that it can be read as one slice.
func rowMajor(t *tensor.Dense) bool {
	shape, strides := t.Shape(), t.Strides()
	if shape.Dims() == 0 {
		return true
	}
	if len(strides) != len(shape) {
		return len(strides) == 1 && strides[0] == 1
	}
	want := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] != 1 && strides[i] != want {
			return false
		}
		want *= shape[i]
	}
	return true
}

// argument is one input of a running op: its elements as they lie in memory. The
// tensor is kept so that the memory stays alive.
type argument struct {
	data  unsafe.Pointer
	n     int
	value gorgonia.Value
	half  []kernel.BFloat16 // the input of a packed op, instead of data
	wide  []float32         // the float32 copy of half, made when the op asks for it
}

// argumentOf reads a value that Gorgonia passes to an op. It copies a view that is not contiguous,
// such as the result of a stock transpose or slice.
func argumentOf(v gorgonia.Value, want Signature) (argument, error) {
	switch t := v.(type) {
	case *tensor.Dense:
		if t.Dtype() != want.DType {
			return argument{}, errors.Errorf("want %s, got a tensor of %v", want, t.Dtype())
		}
		if !rowMajor(t) {
			dense, ok := t.Materialize().(*tensor.Dense)
			if !ok || !rowMajor(dense) {
				return argument{}, errors.Errorf("want %s in row-major order, got strides %v: copy it into a tensor of the default order", want, t.Strides())
			}
			t = dense
		}
		if t.Shape().TotalSize() != want.Size() {
			return argument{}, errors.Errorf("want %s, got shape %v", want, t.Shape())
		}
		return argument{data: dataOf(t), n: want.Size(), value: t}, nil
	case *gorgonia.F32:
		if want.DType == tensor.Float32 && want.Size() == 1 {
			return argument{data: unsafe.Pointer(t), n: 1, value: t}, nil
		}
	case *gorgonia.F64:
		if want.DType == tensor.Float64 && want.Size() == 1 {
			return argument{data: unsafe.Pointer(t), n: 1, value: t}, nil
		}
	case nil:
		return argument{}, errors.Errorf("want %s, got no value: bind one with gorgonia.Let", want)
	}
	return argument{}, errors.Errorf("want %s, got %T", want, v)
}

// Call is one run of an op. CallOf gives access to its tensors; State returns what the op keeps
// between runs.
type Call struct {
	op     *Op
	args   []argument
	result gorgonia.Value
	state  any // the op's kernel, kept between runs
	err    error

	written []wideCopy // outputs that are rounded to bfloat16 after the run
}

func (c *Call) bind(values []gorgonia.Value) error {
	if len(values) != len(c.args) {
		return errors.Errorf("want %d inputs, got %d", len(c.args), len(values))
	}
	for i, v := range values {
		if c.op.weightsOf(i) != nil {
			continue
		}
		if from := c.op.producers[i]; from != nil && from.half != nil {
			c.args[i] = argument{half: from.half, n: from.out.Size()}
			continue
		}
		arg, err := argumentOf(v, c.op.in[i])
		if err != nil {
			return errors.Wrapf(err, "input %d", i)
		}
		c.args[i] = arg
	}
	c.op.buffer.ensure(c.op.out)
	c.result = c.op.buffer.value
	return nil
}

// Pool returns the workers that share the op's work.
func (c *Call) Pool() *kernel.Pool { return c.op.builder.runtime.workers() }

// Accumulate tells whether the output is to be added to rather than replaced.
func (c *Call) Accumulate() bool { return c.op.accumulating() }

func (op *Op) accumulating() bool { return op.gradientOf != nil && op.builder.runtime.accumulate }

// Inputs returns the number of inputs.
func (c *Call) Inputs() int { return len(c.args) }

// Signature returns the signature of input i.
func (c *Call) Signature(i int) Signature { return c.op.in[i] }

// Result returns the signature of the output.
func (c *Call) Result() Signature { return c.op.out }

// Step returns the number of the training step, for ops that draw different random numbers in each
// step.
func (c *Call) Step() uint64 { return c.op.builder.runtime.step }

// Fail makes the run fail with err, unless err is nil or the run has failed already.
func (c *Call) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Ints returns the elements of input i, an Int32; nil if the op has no such input.
func (c *Call) Ints(i int) []int32 { return inputOf[int32](c, i) }

// IntsOut returns the elements of an Int32 output.
func (c *Call) IntsOut() []int32 { return outputOf[int32](c.op) }

// SecondaryInts returns the elements of secondary i, an Int32, as SecondaryOut does for floats.
func (c *Call) SecondaryInts(i int) []int32 {
	data, _ := secondaryOf[int32](c, i)
	return data
}

// CallOf is the Call of an op whose floats are of type T.
type CallOf[T kernel.Float] struct{ *Call }

// In returns input i's elements; nil if the op has no such input.
func (c CallOf[T]) In(i int) []T { return inputOf[T](c.Call, i) }

// Out returns the output's elements.
func (c CallOf[T]) Out() []T { return writtenOf[T](c.Call, c.op) }

// SecondaryOut returns the elements of secondary i's buffer, nil if that node was not built, and
// whether to add to them instead of replacing them.
func (c CallOf[T]) SecondaryOut(i int) (data []T, accumulate bool) { return secondaryOf[T](c.Call, i) }

func inputOf[T kernel.Float | int32](c *Call, i int) []T {
	if i < 0 || i >= len(c.args) {
		return nil
	}
	if c.args[i].half != nil {
		return floatsAs[T](c.wide(i))
	}
	return unsafe.Slice((*T)(c.args[i].data), c.args[i].n)
}

func outputOf[T kernel.Float | int32](op *Op) []T {
	return unsafe.Slice((*T)(op.buffer.data), op.out.Size())
}

func secondaryOf[T kernel.Float | int32](c *Call, i int) (data []T, accumulate bool) {
	if i >= len(c.op.secondaries) || c.op.secondaries[i] == nil {
		return nil, false
	}
	other := c.op.secondaries[i]
	other.buffer.ensure(other.out)
	return writtenOf[T](c, other), other.accumulating()
}

// writtenOf returns the memory into which an output is computed.
func writtenOf[T kernel.Float | int32](c *Call, op *Op) []T {
	if op.rounded() {
		return floatsAs[T](c.wideOut(op))
	}
	return outputOf[T](op)
}

// Dispatch calls k for the op's float type: single for float32, double for float64. Both are
// instances of one generic function.
func Dispatch[K any](c *Call, k K, single func(K, CallOf[float32]), double func(K, CallOf[float64])) {
	if c.double() {
		double(k, CallOf[float64]{c})
	} else {
		single(k, CallOf[float32]{c})
	}
}

// State returns the op's kernel of type K, which the first run makes and later runs reuse.
func State[K any](c interface{ kept() *any }) *K {
	state := c.kept()
	k, ok := (*state).(*K)
	if !ok {
		k = new(K)
		*state = k
	}
	return k
}

// Listed is the state of an op with a list of inputs: its kernel, and the list's memory, so that a
// run allocates nothing.
type Listed[K any, T kernel.Float] struct {
	Kernel K
	list   [][]T
}

// Inputs returns the inputs from number first on.
func (s *Listed[K, T]) Inputs(c CallOf[T], first int) [][]T {
	s.list = s.list[:0]
	for i := first; i < c.Inputs(); i++ {
		s.list = append(s.list, c.In(i))
	}
	return s.list
}

func (c *Call) kept() *any { return &c.state }

// double tells whether the op works on float64, not float32.
func (c *Call) double() bool { return c.op.out.DType == tensor.Float64 }
