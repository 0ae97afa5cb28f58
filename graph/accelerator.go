package graph

import (
	"strconv"
	"strings"
	"unsafe"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/cuda"
)

// CUDA runs ops on the first NVIDIA GPU that CUDA_VISIBLE_DEVICES shows to the program; "cuda:1" is
// the second. It needs a build with the tag cuda.
const CUDA Device = "cuda"

// GPU returns the device for the GPU with the given index, counted from 0.
func GPU(index int) Device {
	if index == 0 {
		return CUDA
	}
	return CUDA + ":" + Device(strconv.Itoa(index))
}

// GPU returns the index of the device's GPU; ok is false if the device is not a GPU.
func (d Device) GPU() (index int, ok bool) {
	number, numbered := strings.CutPrefix(string(d), string(CUDA)+":")
	if !numbered {
		return 0, d == CUDA
	}
	index, err := strconv.Atoi(number)
	return index, err == nil && index >= 0
}

// OnGPU tells whether the device is a GPU.
func (d Device) OnGPU() bool {
	_, ok := d.GPU()
	return ok
}

// OnDevice tells whether the ops run on an accelerator.
func (b *Builder) OnDevice() bool { return b.options.Device.OnGPU() }

// DeviceMemory is device memory that an op keeps from one run to the next, or hands to
// the op that differentiates it.
type DeviceMemory struct {
	array  cuda.Array
	device cuda.Executor
}

// None tells whether no memory has been allocated yet.
func (s *DeviceMemory) None() bool { return s.array.None() }

// ensure returns the memory, which the first call allocates.
func (s *DeviceMemory) ensure(r *runState, t cuda.Type, n int) (cuda.Array, error) {
	if s.array.N == n && s.array.Type == t && !s.array.None() {
		return s.array, nil
	}
	a, err := r.alloc(t, n)
	s.array, s.device = a, r.device
	return a, err
}

// Float64s downloads n numbers that lie on the device as F64.
func (s *DeviceMemory) Float64s(n int) ([]float64, error) {
	values := make([]float64, n)
	if n == 0 || s.device == nil {
		return values, nil
	}
	return values, s.device.Download(unsafe.Pointer(unsafe.SliceData(values)), s.array.Slice(0, n))
}

// deviceRan tells whether the op last ran on a device.
func (op *Op) deviceRan() bool { return op.ranOn != nil }

// StorageOf returns the type in which a device stores a node's value.
func StorageOf(n *gorgonia.Node) cuda.Type { return opOf(n).storage() }

// RanOnDevice tells whether a node's value was last computed on a device.
func RanOnDevice(n *gorgonia.Node) bool {
	op := opOf(n)
	return op != nil && op.deviceRan()
}

// alloc takes device memory, which is freed when the builder's program is closed.
func (r *runState) alloc(t cuda.Type, n int) (cuda.Array, error) {
	a, err := r.device.Alloc(t, n)
	if err == nil {
		r.owned = append(r.owned, a)
	}
	return a, err
}

// release frees what alloc took.
func (r *runState) release() {
	for _, a := range r.owned {
		r.device.Free(a)
	}
	r.owned = nil
}
