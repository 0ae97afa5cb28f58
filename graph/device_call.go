package graph

import (
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
)

// DeviceCall is one run of an op on a device. Its methods are what a Primitive's Launch needs. The
// first error is kept and ends the run: after it no kernel starts, and the arrays that the methods
// return have a size but no memory.
type DeviceCall struct {
	op       *Op
	launcher Launcher
	dev      cuda.Executor
	args     []cuda.Array
	next     *DeviceCall // of the op's follower; nil before its first run
	leader   *DeviceCall // the call that computes this one's op in its own run, and keeps its errors
	err      error
}

// Launcher is a Primitive that runs on a GPU: it starts kernels and returns without waiting.
type Launcher interface{ Launch(c *DeviceCall) }

// CPUOnly is implemented by a Launcher that some settings restrict to the CPU. Its method tells
// whether it has such settings.
type CPUOnly interface {
	Launcher
	CPUOnly() bool
}

// launcherOf returns p as a Launcher, and whether p can run on a GPU.
func launcherOf(p Primitive) (Launcher, bool) {
	if some, ok := p.(CPUOnly); ok && some.CPUOnly() {
		return nil, false
	}
	k, ok := p.(Launcher)
	return k, ok
}

func newDeviceCall(op *Op, k Launcher) DeviceCall {
	return DeviceCall{op: op, launcher: k, dev: op.builder.runtime.device, args: make([]cuda.Array, len(op.in))}
}

// launch starts the op's kernels. Call bind first.
func (c *DeviceCall) launch() error {
	c.op.ranOn = c.dev
	leave, err := c.dev.Enter()
	if err != nil {
		return err
	}
	defer leave()
	c.err = nil
	if !c.launchFused() {
		c.launcher.Launch(c)
	}
	return c.err
}

// Fail ends the run with err, unless err is nil or the run has failed already.
func (c *DeviceCall) Fail(err error) { c.do(func() error { return err }) }

// do calls f, unless an error has ended the run.
func (c *DeviceCall) do(f func() error) {
	run := c
	if c.leader != nil {
		run = c.leader
	}
	if run.err == nil {
		run.err = f()
	}
}

// memory returns the array of n elements that get allocates.
func (c *DeviceCall) memory(t cuda.Type, n int, get func() (cuda.Array, error)) cuda.Array {
	a := cuda.Array{Type: t, N: n}
	c.do(func() (err error) {
		made, err := get()
		if err == nil {
			a = made
		}
		return err
	})
	return a
}

// bind finds the memory of the inputs and of the output.
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

// argument returns the memory of input i: the output of our op that made it, or the copy that the
// tape machine uploaded.
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

// deviceType returns the element type on the device of a value that the host uploads.
func (s Signature) deviceType() cuda.Type {
	if s.DType == tensor.Int32 {
		return cuda.I32
	}
	return cuda.F32
}

// onHost tells whether the op runs on the CPU even if other ops run on a device.
func (op *Op) onHost() bool {
	k, ok := op.Primitive.(interface{ OnHost() bool })
	return ok && k.OnHost()
}

// ensureDevice allocates the output's memory unless a Program has placed it.
func (op *Op) ensureDevice() (err error) {
	if op.device.None() {
		op.device, err = op.builder.runtime.alloc(op.storage(), op.out.Size())
	}
	return err
}

// Primitive returns the op's Primitive.
func (c *DeviceCall) Primitive() Primitive { return c.op.Primitive }

// Signature returns the signature of input i.
func (c *DeviceCall) Signature(i int) Signature { return c.op.in[i] }

// Result returns the signature of the output.
func (c *DeviceCall) Result() Signature { return c.op.out }

// Step returns the number of the training step, for ops that draw different random numbers in each
// step.
func (c *DeviceCall) Step() uint64 {
	c.op.builder.runtime.stepped = true
	return c.op.builder.runtime.step
}

// Inputs returns all inputs.
func (c *DeviceCall) Inputs() []cuda.Array { return c.args }

// In returns input i; the zero Array if the op has no such input.
func (c *DeviceCall) In(i int) cuda.Array {
	if i < 0 || i >= len(c.args) {
		return cuda.Array{}
	}
	return c.args[i]
}

// Reads tells whether input i is the output of the other call's op.
func (c *DeviceCall) Reads(i int, other *DeviceCall) bool { return c.op.producers[i] == other.op }

// InAs returns input i in the given type, converted into scratch memory if it has another.
func (c *DeviceCall) InAs(i int, t cuda.Type) cuda.Array {
	a := c.In(i)
	if a.None() || a.Type == t {
		return a
	}
	return c.Converted(a, t)
}

// Converted returns a copy of an array in type t, in scratch memory.
func (c *DeviceCall) Converted(a cuda.Array, t cuda.Type) cuda.Array {
	to := c.Scratch(t, a.N)
	c.do(func() error { return c.dev.Convert(to, a) })
	return to
}

// Operand returns input i in the type that matrix products read: bfloat16 in precision bf16 (for a
// parameter, the copy that the optimizer maintains), else a 32-bit float.
func (c *DeviceCall) Operand(i int) cuda.Array {
	if c.Activation() == cuda.BF16 && i < len(c.op.producers) && c.op.producers[i] != nil {
		if k, ok := c.op.producers[i].Primitive.(parameter); ok {
			return k.param.resident.shadow
		}
	}
	return c.InAs(i, c.Activation())
}

// Operands returns inputs 0 and 1 in the type that matrix products read.
func (c *DeviceCall) Operands() (a, b cuda.Array) { return c.Operand(0), c.Operand(1) }

// Out returns the output.
func (c *DeviceCall) Out() cuda.Array { return c.op.device }

// SecondaryOut returns secondary i's memory, the zero Array if it was not built, and whether to add
// to it instead of replacing it.
func (c *DeviceCall) SecondaryOut(i int) (a cuda.Array, accumulate bool) {
	if i >= len(c.op.secondaries) || c.op.secondaries[i] == nil {
		return cuda.Array{}, false
	}
	other := c.op.secondaries[i]
	c.do(other.ensureDevice)
	return other.device, other.accumulating()
}

// Accumulate tells whether to add to the output's old content instead of replacing it.
func (c *DeviceCall) Accumulate() bool { return c.op.accumulating() }

// Activation returns the type of activations.
func (c *DeviceCall) Activation() cuda.Type { return c.dev.Precision().Activation() }

// Precision returns the precision in which the device multiplies.
func (c *DeviceCall) Precision() cuda.Precision { return c.dev.Precision() }

// Multiprocessors returns the number of the device's multiprocessors.
func (c *DeviceCall) Multiprocessors() int { return c.number(c.dev.Multiprocessors) }

// SharedMemory returns the bytes of shared memory of a multiprocessor.
func (c *DeviceCall) SharedMemory() int { return c.number(c.dev.SharedMemory) }

func (c *DeviceCall) number(ask func() (int, error)) (n int) {
	c.do(func() (err error) {
		n, err = ask()
		return err
	})
	return n
}

// Scratch returns memory of n elements that is free again when Launch returns.
func (c *DeviceCall) Scratch(t cuda.Type, n int) cuda.Array {
	return c.memory(t, n, func() (cuda.Array, error) { return c.dev.Scratch(t, n) })
}

// Saved returns memory of n elements that is kept from run to run.
func (c *DeviceCall) Saved(owner *DeviceMemory, t cuda.Type, n int) cuda.Array {
	return c.memory(t, n, func() (cuda.Array, error) { return owner.ensure(c.op.builder.runtime, t, n) })
}

// Constant returns a device copy of host, which the first run uploads.
func (c *DeviceCall) Constant(owner *DeviceMemory, host []float32) cuda.Array {
	if len(host) == 0 || !owner.array.None() {
		return owner.array
	}
	a := c.Saved(owner, cuda.F32, len(host))
	c.do(func() error {
		err := c.dev.Upload(a, unsafe.Pointer(unsafe.SliceData(host)))
		if err != nil {
			owner.array = cuda.Array{}
		}
		return err
	})
	return a
}

func (c *DeviceCall) upload(to cuda.Array, host unsafe.Pointer) {
	c.do(func() error { return c.dev.Upload(to, host) })
}

// Launch starts the named kernel. Wrong arguments are an error.
func (c *DeviceCall) Launch(name string, grid cuda.Grid, args ...cuda.Arg) {
	c.do(func() error { return c.dev.Launch(name, grid, args...) })
}

// LaunchProduct starts the variant of the named kernel that multiplies in the device's precision.
func (c *DeviceCall) LaunchProduct(name string, grid cuda.Grid, args ...cuda.Arg) {
	c.Launch(name+"_"+string(c.Precision()), grid, args...)
}

// Gemm starts a matrix product.
func (c *DeviceCall) Gemm(g cuda.Gemm) { c.do(func() error { return c.dev.Gemm(g) }) }

// GemmWith starts a matrix product with an epilogue and returns true; if the device has no such
// epilogue, it starts nothing and returns false.
func (c *DeviceCall) GemmWith(g cuda.Gemm, e cuda.Epilogue, aux cuda.Array) (has bool) {
	g.Epilogue, g.Aux, has = e, aux, true
	c.do(func() error {
		err := c.dev.Gemm(g)
		if errors.Is(err, cuda.ErrNoEpilogue) {
			has = false
			return nil
		}
		return err
	})
	return has
}

// Zero clears an array.
func (c *DeviceCall) Zero(a cuda.Array) { c.do(func() error { return c.dev.Zero(a) }) }

// CopyTo copies src into dst, an array of the same size, converting the type if necessary.
func (c *DeviceCall) CopyTo(dst, src cuda.Array) {
	if dst.Ptr != src.Ptr {
		c.do(func() error { return c.dev.Convert(dst, src) })
	}
}
