package cu

import "unsafe"

// FunctionAttribute is a number that belongs to a kernel.
type FunctionAttribute int32

// Attributes of a kernel, in bytes where they are sizes.
const (
	FunctionMaxThreads       FunctionAttribute = 0 // threads a block
	FunctionSharedSize       FunctionAttribute = 1 // static shared memory
	FunctionLocalSize        FunctionAttribute = 3 // a thread's spilled registers and arrays
	FunctionRegisters        FunctionAttribute = 4 // a thread
	FunctionMaxDynamicShared FunctionAttribute = 8
)

// Name returns the kernel's name.
func (f Function) Name() string { return f.name }

// Attribute returns an attribute's value.
func (f Function) Attribute(a FunctionAttribute) (int, error) {
	var value int32
	err := anyThread("asking about kernel "+f.name, func(d *driver) uintptr {
		return d.funcGetAttribute.Call(uintptr(unsafe.Pointer(&value)), uintptr(a), f.handle)
	})
	return int(value), err
}

// SetMaxDynamicShared lets launches of the kernel take up to so many bytes of dynamic shared
// memory a block. Without it the limit is 48 KB, with the kernel's static shared memory; the
// most that a GPU has is its attribute MaxSharedMemoryPerBlock.
func (f Function) SetMaxDynamicShared(bytes int) error {
	return anyThread("allowing more shared memory to kernel "+f.name, func(d *driver) uintptr {
		return d.funcSetAttribute.Call(f.handle, uintptr(FunctionMaxDynamicShared), uintptr(bytes))
	})
}
