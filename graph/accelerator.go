package graph

import (
	"unsafe"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/cuda"
)

// CUDA runs ops on an NVIDIA GPU; it needs a build with the tag cuda.
const CUDA Device = "cuda"

// onDevice tells whether b's ops run on an accelerator.
func (b *Builder) onDevice() bool { return b.options.Device != CPU && b.options.Device != "" }

// DeviceMemory is device memory that an op keeps from one run to the next, or hands to
// the op that differentiates it.
type DeviceMemory struct {
	array  cuda.Array
	device cuda.Executor
}

// None tells whether there is no memory yet.
func (s *DeviceMemory) None() bool { return s.array.None() }

// ensure returns the memory, made at the first call.
func (s *DeviceMemory) ensure(r *runState, t cuda.Type, n int) (cuda.Array, error) {
	if s.array.N == n && s.array.Type == t && !s.array.None() {
		return s.array, nil
	}
	a, err := r.alloc(t, n)
	s.array, s.device = a, r.device
	return a, err
}

// Float64s downloads n numbers that the device keeps as F64.
func (s *DeviceMemory) Float64s(n int) ([]float64, error) {
	values := make([]float64, n)
	if n == 0 || s.device == nil {
		return values, nil
	}
	return values, s.device.Download(unsafe.Pointer(unsafe.SliceData(values)), s.array.Slice(0, n))
}

// deviceRan tells whether the op last ran on a device.
func (op *Op) deviceRan() bool { return op.ranOn != nil }

// StorageOf is the type that a node's value has on a device.
func StorageOf(n *gorgonia.Node) cuda.Type { return opOf(n).storage() }

// RanOnDevice tells whether a node's value was last computed on a device.
func RanOnDevice(n *gorgonia.Node) bool {
	op := opOf(n)
	return op != nil && op.deviceRan()
}

// alloc takes device memory that lives as long as the builder's program.
func (r *runState) alloc(t cuda.Type, n int) (cuda.Array, error) {
	a, err := r.device.Alloc(t, n)
	if err == nil {
		r.owned = append(r.owned, a)
	}
	return a, err
}

// release gives back what alloc took.
func (r *runState) release() {
	for _, a := range r.owned {
		r.device.Free(a)
	}
	r.owned = nil
}
