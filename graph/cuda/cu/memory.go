package cu

import (
	"fmt"
	"unsafe"

	"github.com/pkg/errors"
)

// DevicePtr is an address in device memory. It implements the tensor.Memory of Gorgonia's tensors.
type DevicePtr uintptr

// Uintptr returns the address.
func (p DevicePtr) Uintptr() uintptr { return uintptr(p) }

// MemSize returns 0: an address does not know the size of its memory.
func (p DevicePtr) MemSize() uintptr { return 0 }

// String returns the address in hexadecimal.
func (p DevicePtr) String() string { return fmt.Sprintf("0x%x", uintptr(p)) }

// MemAttachFlags say which streams may use managed memory.
type MemAttachFlags uint32

// AttachGlobal lets every stream use it.
const AttachGlobal MemAttachFlags = 1

// MemInfo returns the free and the total bytes of the GPU's memory.
func MemInfo() (free, total int64, err error) {
	sizes := new([2]uint64)
	err = anyThread("asking for the GPU's free memory", func(d *driver) uintptr {
		return d.memGetInfo.Call(uintptr(unsafe.Pointer(&sizes[0])), uintptr(unsafe.Pointer(&sizes[1])))
	})
	return int64(sizes[0]), int64(sizes[1]), err
}

// MemAlloc allocates device memory. Its address is a multiple of 256.
func MemAlloc(size int64) (DevicePtr, error) {
	var p DevicePtr
	err := anyThread(fmt.Sprintf("allocating %d bytes on the GPU", size), func(d *driver) uintptr {
		return d.memAlloc.Call(uintptr(unsafe.Pointer(&p)), uintptr(size))
	})
	return p, explainMemory(err)
}

// MemAllocManaged allocates memory that the driver moves between processor and GPU.
func MemAllocManaged(size int64, flags MemAttachFlags) (DevicePtr, error) {
	var p DevicePtr
	err := anyThread(fmt.Sprintf("allocating %d bytes of managed memory", size), func(d *driver) uintptr {
		return d.memAllocManaged.Call(uintptr(unsafe.Pointer(&p)), uintptr(size), uintptr(flags))
	})
	return p, explainMemory(err)
}

// explainMemory adds to an out-of-memory error how much memory there is.
func explainMemory(err error) error {
	if !errors.Is(err, OutOfMemory) {
		return err
	}
	free, total, unknown := MemInfo()
	if unknown != nil {
		return err
	}
	return errors.WithMessagef(err, "%d of the GPU's %d bytes are free", free, total)
}

// MemFree frees memory.
func MemFree(p DevicePtr) error {
	return anyThread("freeing GPU memory", func(d *driver) uintptr { return d.memFree.Call(uintptr(p)) })
}
