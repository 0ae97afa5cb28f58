package graph

import (
	"slices"
	"unsafe"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// Precision BF16 means the same on the CPU as on a GPU: every output whose storage
// (Op.storage) is bfloat16 is rounded as soon as it is computed, and matrix products read
// bfloat16 copies of parameters. In a Program's arena such an output also takes 16 bits: it is
// packed. An op that does not handle this reads and writes float32 copies in scratch memory
// (Call.wide); products read the bfloat16 itself (Half), and kernels that work by rows widen
// and round a few elements at a time (Rows, RowsOut). Outputs, hooked tensors and inputs of
// stock ops stay float32 in memory, with rounded values.

// halves tells whether the builder's activations are bfloat16 on the CPU.
func (b *Builder) halves() bool { return b.options.Precision == BF16 && !b.OnDevice() }

// rounded tells whether the op's output is rounded to bfloat16 on the CPU.
func (op *Op) rounded() bool { return op.builder.halves() && op.storage() == cuda.BF16 }

// pack marks the op of n as packed: its output takes 16 bits in the arena. It does nothing if n is
// pinned or a stock op reads it.
func (p *plan) pack(n *gorgonia.Node) {
	op := opOf(n)
	op.packed = p.packs && op.rounded() && !p.pinned[n]
	for _, r := range p.readers[n] {
		op.packed = op.packed && opOf(r) != nil
	}
}

// bindHalf places a packed op's output. The tensor that the tape machine passes on has the output's
// shape in float32, but only the first half of its memory belongs to the output; nothing reads that
// tensor's elements.
func (op *Op) bindHalf(at unsafe.Pointer) {
	op.half = unsafe.Slice((*kernel.BFloat16)(at), op.out.Size())
	op.buffer.bindTo(denseAt(at, op.out))
}

// wideCopy is a float32 copy of an op's output, to be rounded into the output after the run. If
// half is not nil, it is the other way round: half holds the rounded values, to be widened into a
// float32 output.
type wideCopy struct {
	of   *Op
	data []float32
	half []kernel.BFloat16
}

// widths is the scratch memory for one op's wide copies; the next op uses it again.
type widths struct {
	memory   []float32
	used     int
	convert  kernel.Roundings
	operands map[unsafe.Pointer]*operand // by the address of the input
	packs    map[packing]*packed
}

// packing identifies one packed form of one input.
type packing struct {
	at         unsafe.Pointer // the address of a parameter, or the argument of a computed op
	transposed bool
	n, k       int
}

// packed is an input in a form that products read, and the version of the parameters' values that
// it was made from.
type packed struct {
	values  int
	weights kernel.WeightsBFloat16
	matrix  kernel.PackedBFloat16
}

// operand is a bfloat16 copy of a parameter, and the version of the parameters' values that it was
// made from.
type operand struct {
	values int
	half   []kernel.BFloat16
}

// take returns memory for n elements, valid until the next op begins.
func (w *widths) take(n int) []float32 {
	n = (n + 15) &^ 15 // start the next piece at a cache line
	if w.used+n > len(w.memory) {
		w.memory, w.used = make([]float32, w.used+n), 0
	}
	w.used += n
	return w.memory[w.used-n : w.used]
}

// wide returns input i as float32.
func (c *Call) wide(i int) []float32 {
	a := &c.args[i]
	if a.half != nil && a.wide == nil {
		w := &c.op.builder.runtime.widths
		a.wide = w.take(a.n)[:a.n]
		w.convert.Widen(c.Pool(), a.wide, a.half)
	}
	return a.wide
}

// wideOut returns the float32 memory into which an output, the call's own or a secondary's, is
// computed.
func (c *Call) wideOut(op *Op) []float32 {
	for _, w := range c.written {
		if w.of == op {
			return w.data
		}
	}
	size := op.out.Size()
	data := unsafe.Slice((*float32)(op.buffer.data), size)
	if op.packed {
		w := &c.op.builder.runtime.widths
		data = w.take(size)[:size]
		if op == c.op && op.primary != nil { // its primary has filled it
			w.convert.Widen(c.Pool(), data, op.half)
		}
	}
	c.written = append(c.written, wideCopy{of: op, data: data})
	return data
}

// round rounds the outputs that the run has written.
func (c *Call) round() {
	w := &c.op.builder.runtime.widths
	for _, out := range c.written {
		if out.half != nil {
			w.convert.Widen(c.Pool(), out.data, out.half)
		} else if out.of.packed {
			w.convert.Round(c.Pool(), out.of.half, out.data)
		} else {
			w.convert.RoundInPlace(c.Pool(), out.data)
		}
	}
	c.written = c.written[:0]
	w.used = 0
}

// Operand returns input i as matrix products read it: rounded to bfloat16 in precision BF16, else
// unchanged.
func (c CallOf[T]) Operand(i int) []T {
	if !c.op.builder.halves() || c.op.producers[i] != nil && c.op.producers[i].rounded() {
		return c.In(i)
	}
	half := c.Half(i)
	data := c.op.builder.runtime.widths.take(len(half))[:len(half)]
	c.op.builder.runtime.widths.convert.Widen(c.Pool(), data, half)
	return floatsAs[T](data)
}

// Half returns input i as bfloat16 in precision BF16, rounding it if it is float32, and nil in
// other precisions. All products of a run share one copy of a parameter.
func (c *Call) Half(i int) []kernel.BFloat16 {
	if !c.op.builder.halves() || i >= len(c.args) || c.double() {
		return nil
	}
	w := &c.op.builder.runtime.widths
	a := c.args[i]
	if a.half != nil {
		return a.half
	}
	wide := unsafe.Slice((*float32)(a.data), a.n)
	if c.op.parameters[i] {
		return w.operand(c.Pool(), wide, c.op.builder.runtime.values)
	}
	half := halvesIn(w.take((len(wide) + 1) / 2))[:len(wide)]
	w.convert.Round(c.Pool(), half, wide)
	return half
}

// Packed returns input i packed as the operand op(B) [k, n] of bfloat16 products; transposed says
// that it is stored as [n, k]. A parameter is rounded and packed once for all products that read it
// in this form, until its values change; outside a Program's runs it is packed at every use.
func (c *Call) Packed(i int, transposed bool, n, k int) kernel.PackedBFloat16 {
	w, a, values := &c.op.builder.runtime.widths, &c.args[i], c.op.builder.runtime.values
	key := packing{unsafe.Pointer(a), transposed, n, k}
	if c.op.parameters[i] {
		key.at = a.data
	}
	if w.packs == nil {
		w.packs = map[packing]*packed{}
	}
	p := w.packs[key]
	if p == nil {
		p = &packed{}
		w.packs[key] = p
	} else if c.op.parameters[i] && values != 0 && p.values == values {
		return p.matrix
	}
	ld := n
	if transposed {
		ld = k
	}
	if a.half != nil {
		p.matrix = p.weights.Pack(c.Pool(), transposed, n, k, a.half, ld)
	} else {
		p.matrix = p.weights.PackFloat32(c.Pool(), transposed, n, k, unsafe.Slice((*float32)(a.data), a.n), ld)
	}
	p.values = values
	return p.matrix
}

// Rows returns input i as it lies in memory, for a kernel that reads a few elements at a time; it
// has no tensor if the op has no such input.
func (c CallOf[T]) Rows(i int) kernel.Rows[T] {
	if i >= 0 && i < len(c.args) && c.args[i].half != nil {
		return kernel.OfBFloat16[T](c.args[i].half)
	}
	return kernel.Of(c.In(i))
}

// RowsOut returns the output as it lies in memory, for a kernel that writes it a few elements at a
// time.
func (c CallOf[T]) RowsOut() kernel.Rows[T] {
	if half := c.HalfOut(); half != nil {
		return kernel.OfBFloat16[T](half)
	}
	return kernel.Of(c.Out())
}

// CopyOut copies input i, which has the output's size, into the output, unless both lie in the same
// memory.
func (c CallOf[T]) CopyOut(i int) {
	if out, from := c.HalfOut(), c.args[i].half; out != nil && from != nil {
		if &out[0] != &from[0] {
			copy(out, from)
		}
		return
	}
	if out, from := c.Out(), c.In(i); &out[0] != &from[0] {
		copy(out, from)
	}
}

// HalfOut returns the output's memory if it takes 16 bits, for the caller to write as it is;
// otherwise, or if Out has been called in this run, nil.
func (c *Call) HalfOut() []kernel.BFloat16 {
	if !c.op.packed || slices.ContainsFunc(c.written, func(w wideCopy) bool { return w.of == c.op }) {
		return nil
	}
	return c.op.half
}

// RoundedOut returns memory for the whole output as bfloat16: the output's own memory if it takes
// 16 bits, else a copy that is widened into the output after the run. It is for ops whose output is
// rounded.
func (c *Call) RoundedOut() []kernel.BFloat16 { return c.roundedOut(c.op) }

// RoundedSecondaryOut does for secondary i, which must exist, what RoundedOut does for the output.
func (c *Call) RoundedSecondaryOut(i int) []kernel.BFloat16 {
	other := c.op.secondaries[i]
	other.buffer.ensure(other.out)
	return c.roundedOut(other)
}

func (c *Call) roundedOut(op *Op) []kernel.BFloat16 {
	if op.packed {
		return op.half
	}
	size := op.out.Size()
	out := wideCopy{of: op, data: unsafe.Slice((*float32)(op.buffer.data), size)}
	out.half = halvesIn(c.op.builder.runtime.widths.take((size + 1) / 2))[:size]
	c.written = append(c.written, out)
	return out.half
}

// HasSecondary tells whether secondary i is in the graph.
func (c *Call) HasSecondary(i int) bool {
	return i < len(c.op.secondaries) && c.op.secondaries[i] != nil
}

// Float32s returns x itself, for a T that is float32.
func Float32s[T kernel.Float](x []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// operand returns the bfloat16 copy of a parameter. It is made at the first use after the
// parameters' values changed; outside a Program's runs, where values is 0, at every use.
func (w *widths) operand(pool *kernel.Pool, value []float32, values int) []kernel.BFloat16 {
	if w.operands == nil {
		w.operands = map[unsafe.Pointer]*operand{}
	}
	at := unsafe.Pointer(unsafe.SliceData(value))
	o := w.operands[at]
	if o == nil || len(o.half) != len(value) {
		o = &operand{values: -1, half: make([]kernel.BFloat16, len(value))}
		w.operands[at] = o
	}
	if o.values != values || values == 0 {
		w.convert.Round(pool, o.half, value)
		o.values = values
	}
	return o.half
}

// halvesMemory returns the memory that precision BF16 takes on the CPU in addition to the arena, in
// bytes. copies is the memory of packed parameters, as if products read all parameters: in one form
// or, with gradients, in two. scratch is the largest need of one op for float32 copies of what it
// reads and writes; a ByRows op needs such copies only of its secondaries.
func (p *Program) halvesMemory() (copies, scratch int) {
	if !p.builder.halves() {
		return 0, 0
	}
	for _, n := range p.plan.order {
		op := opOf(n)
		if op == nil {
			continue
		}
		need, wide := 0, op.secondaries
		if k, ok := op.Primitive.(ByRows); !ok || !k.ByRows() {
			wide = slices.Concat(op.producers, wide, []*Op{op})
		}
		for _, other := range wide {
			if other != nil && other.packed {
				need += other.out.Bytes()
			}
		}
		scratch = max(scratch, need)
	}
	forms := 1
	if p.options.Gradients {
		forms = 2
	}
	return forms * p.builder.options.Store.Size() * cuda.BF16.Size(), scratch
}

// halvesIn returns the memory of x as twice as many bfloat16.
func halvesIn(x []float32) []kernel.BFloat16 {
	return unsafe.Slice((*kernel.BFloat16)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// floatsAs returns x itself, for a T that is float32.
func floatsAs[T kernel.Float | int32](x []float32) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
