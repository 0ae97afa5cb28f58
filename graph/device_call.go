package graph

import (
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
)

// DeviceCall is one run of an op on a device. Its methods are what a Primitive's launch needs.
type DeviceCall struct {
	op       *Op
	launcher Launcher
	dev      cuda.Executor
	args     []cuda.Array
}

// Launcher is a Primitive that runs on a GPU: it starts kernels and returns without waiting.
type Launcher interface{ Launch(c *DeviceCall) error }

func newDeviceCall(op *Op, k Launcher) DeviceCall {
	return DeviceCall{op: op, launcher: k, dev: op.builder.runtime.device, args: make([]cuda.Array, len(op.in))}
}

// launch starts the op's kernels; bind has found its memory.
func (c *DeviceCall) launch() error {
	c.op.ranOn = c.dev
	leave, err := c.dev.Enter()
	if err != nil {
		return err
	}
	defer leave()
	return c.launcher.Launch(c)
}

// bind finds the inputs' and the output's memory.
func (c *DeviceCall) bind(values []gorgonia.Value) error {
	if len(values) != len(c.args) {
		return errors.Errorf("want %d inputs, got %d", len(c.args), len(values))
	}
	for i, v := range values {
		a, err := c.argument(i, v)
		if err != nil {
			return errors.Wrapf(err, "input %d", i)
		}
		c.args[i] = a
	}
	return c.op.ensureDevice()
}

// argument is where input i lies: the memory of the op of ours that made it, or what the
// tape machine has copied to the device.
func (c *DeviceCall) argument(i int, v gorgonia.Value) (cuda.Array, error) {
	if from := c.op.producers[i]; from != nil && from.ranOn != nil {
		return from.device, nil
	}
	want := c.op.in[i]
	if v == nil {
		return cuda.Array{}, errors.Errorf("want %s, got no value: bind one with gorgonia.Let", want)
	}
	return cuda.Array{Ptr: uint64(v.Uintptr()), Type: want.deviceType(), N: want.Size()}, nil
}

// deviceType is what a value is made of that the host has copied to a device.
func (s Signature) deviceType() cuda.Type {
	if s.DType == tensor.Int32 {
		return cuda.I32
	}
	return cuda.F32
}

// onHost tells whether the op runs on the CPU even where the others run on a device.
func (op *Op) onHost() bool {
	k, ok := op.Primitive.(interface{ OnHost() bool })
	return ok && k.OnHost()
}

// ensureDevice allocates the output's memory where no Program has placed it.
func (op *Op) ensureDevice() (err error) {
	if op.device.None() {
		op.device, err = op.builder.runtime.alloc(op.storage(), op.out.Size())
	}
	return err
}

// Device is what the op runs on.
func (c *DeviceCall) Device() cuda.Executor { return c.dev }

// Signature is that of input i.
func (c *DeviceCall) Signature(i int) Signature { return c.op.in[i] }

// Result is the signature of the output.
func (c *DeviceCall) Result() Signature { return c.op.out }

// Step is the training step, for draws that differ from step to step.
func (c *DeviceCall) Step() uint64 { return c.op.builder.runtime.step }

// Inputs are all inputs.
func (c *DeviceCall) Inputs() []cuda.Array { return c.args }

// In returns input i, the zero Array where the op has no such input.
func (c *DeviceCall) In(i int) cuda.Array {
	if i < 0 || i >= len(c.args) {
		return cuda.Array{}
	}
	return c.args[i]
}

// InAs returns input i in the given type, converted into scratch memory if need be.
func (c *DeviceCall) InAs(i int, t cuda.Type) (cuda.Array, error) {
	a := c.In(i)
	if a.None() || a.Type == t {
		return a, nil
	}
	return c.Converted(a, t)
}

// Converted returns a copy of an array in another type, in scratch memory.
func (c *DeviceCall) Converted(a cuda.Array, t cuda.Type) (cuda.Array, error) {
	to, err := c.Scratch(t, a.N)
	if err != nil {
		return to, err
	}
	return to, c.dev.Convert(to, a)
}

// Operand returns input i as matrix products want it: bfloat16 in precision bf16 (of a
// parameter, the copy that the optimizer keeps), else a 32-bit float.
func (c *DeviceCall) Operand(i int) (cuda.Array, error) {
	if c.Activation() == cuda.BF16 && i < len(c.op.producers) && c.op.producers[i] != nil {
		if k, ok := c.op.producers[i].Primitive.(parameter); ok {
			return k.param.resident.shadow, nil
		}
	}
	return c.InAs(i, c.Activation())
}

// Out returns the output.
func (c *DeviceCall) Out() cuda.Array { return c.op.device }

// SecondaryOut returns secondary i's memory, the zero Array if it was not built.
func (c *DeviceCall) SecondaryOut(i int) (a cuda.Array, accumulate bool, err error) {
	if i >= len(c.op.secondaries) || c.op.secondaries[i] == nil {
		return cuda.Array{}, false, nil
	}
	other := c.op.secondaries[i]
	if err := other.ensureDevice(); err != nil {
		return cuda.Array{}, false, err
	}
	return other.device, other.accumulating(), nil
}

// Accumulate tells whether to add to the output's old content.
func (c *DeviceCall) Accumulate() bool { return c.op.accumulating() }

// Activation is the type that activations have.
func (c *DeviceCall) Activation() cuda.Type { return c.dev.Precision().Activation() }

// Scratch returns memory that is free again when launch returns.
func (c *DeviceCall) Scratch(t cuda.Type, n int) (cuda.Array, error) { return c.dev.Scratch(t, n) }

// Saved returns memory of n elements that stays from run to run.
func (c *DeviceCall) Saved(owner *DeviceMemory, t cuda.Type, n int) (cuda.Array, error) {
	return owner.ensure(c.op.builder.runtime, t, n)
}

// Constant returns host numbers that were uploaded at the first run.
func (c *DeviceCall) Constant(owner *DeviceMemory, host []float32) (cuda.Array, error) {
	if len(host) == 0 || !owner.array.None() {
		return owner.array, nil
	}
	a, err := c.Saved(owner, cuda.F32, len(host))
	if err != nil {
		return a, err
	}
	return a, c.dev.Upload(a, unsafe.Pointer(unsafe.SliceData(host)))
}

// Launch starts the kernel of that name. Wrong arguments are an error.
func (c *DeviceCall) Launch(name string, grid cuda.Grid, args ...cuda.Arg) error {
	return c.dev.Launch(name, grid, args...)
}

// Gemm starts a matrix product.
func (c *DeviceCall) Gemm(g cuda.Gemm) error { return c.dev.Gemm(g) }

// CopyTo copies or converts an array of as many elements.
func (c *DeviceCall) CopyTo(dst, src cuda.Array) error {
	if dst.Ptr == src.Ptr {
		return nil
	}
	return c.dev.Convert(dst, src)
}

// LaunchProduct launches the form of a kernel that multiplies as the device's precision
// wants it.
func (c *DeviceCall) LaunchProduct(name string, grid cuda.Grid, args ...cuda.Arg) error {
	return c.Launch(name+"_"+string(c.Device().Precision()), grid, args...)
}

// Operands are inputs i and j as matrix products want them.
func (c *DeviceCall) Operands(i, j int) (a, b cuda.Array, err error) {
	if a, err = c.Operand(i); err != nil {
		return a, b, err
	}
	b, err = c.Operand(j)
	return a, b, err
}
