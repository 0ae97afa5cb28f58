package cu

import "unsafe"

// FunctionAttribute identifies a property of a kernel.
type FunctionAttribute int32

// The attributes of a kernel; sizes are in bytes.
const (
	FunctionMaxThreads       FunctionAttribute = 0 // threads of a block
	FunctionSharedSize       FunctionAttribute = 1 // static shared memory
	FunctionLocalSize        FunctionAttribute = 3 // spilled registers and arrays of a thread
	FunctionRegisters        FunctionAttribute = 4 // registers of a thread
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

// SetMaxDynamicShared lets launches of the kernel use up to the given number of bytes of dynamic
// shared memory for each block. Without it the limit is 48 KB, including the kernel's static shared
// memory; the largest possible limit is the GPU's attribute MaxSharedMemoryPerBlock.
func (f Function) SetMaxDynamicShared(bytes int) error {
	return anyThread("allowing more shared memory to kernel "+f.name, func(d *driver) uintptr {
		return d.funcSetAttribute.Call(f.handle, uintptr(FunctionMaxDynamicShared), uintptr(bytes))
	})
}
