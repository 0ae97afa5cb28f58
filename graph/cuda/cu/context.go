package cu

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// ContextFlags say how the processor waits for the GPU. They are ignored, because a primary context
// has its own.
type ContextFlags uint32

// SchedAuto lets the driver choose.
const SchedAuto ContextFlags = 0

// CUContext is a reference to a device's primary context, to which its memory, modules and streams
// belong.
type CUContext struct {
	handle uintptr
	device Device
}

// MakeContext takes a reference to the device's primary context and makes it current. It returns
// the error OutOfMemory unwrapped.
func (d Device) MakeContext(ContextFlags) (CUContext, error) {
	driver, err := load()
	if err != nil {
		return CUContext{}, err
	}
	c := CUContext{device: d}
	r := Result(driver.primaryCtxRetain.Call(uintptr(unsafe.Pointer(&c.handle)), uintptr(d)))
	switch r {
	case 0:
		return c, SetCurrentContext(c)
	case OutOfMemory:
		return CUContext{}, r
	}
	return CUContext{}, failed(r, "taking the context of %v", d)
}

// Release drops the reference. The driver ends the context with its last reference.
func (c CUContext) Release() error {
	d, err := load()
	if err != nil {
		return err
	}
	if r := Result(d.primaryCtxRelease.Call(uintptr(c.device))); r != 0 {
		return failed(r, "releasing the context of %v", c.device)
	}
	return nil
}

// lastContext is the context that was last made current on any thread: a call on a thread without a
// context uses it.
var lastContext atomic.Uintptr

// SetCurrentContext makes the context current on the calling thread.
func SetCurrentContext(c CUContext) error {
	d, err := load()
	if err != nil {
		return err
	}
	if r := Result(d.ctxSetCurrent.Quick(nil, c.handle)); r != 0 {
		return failed(r, "making the context of %v current", c.device)
	}
	lastContext.Store(c.handle)
	return nil
}

// Lock pins the goroutine to its thread and makes the context current there, until Unlock. Calls
// may be nested.
func (c CUContext) Lock() error {
	runtime.LockOSThread()
	err := SetCurrentContext(c)
	if err != nil {
		runtime.UnlockOSThread()
	}
	return err
}

// Unlock undoes one Lock.
func (c CUContext) Unlock() { runtime.UnlockOSThread() }

// Synchronize waits until the GPU has done all work of the current context. It returns the error of
// a kernel that failed, if no earlier call did.
func Synchronize() error {
	return anyThread("waiting for the GPU", func(d *driver) uintptr { return d.ctxSynchronize.Call() })
}

// anyThread makes a call that needs a context, from a goroutine that may be on any thread.
func anyThread(doing string, call func(*driver) uintptr) error {
	d, err := load()
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if r := d.needContext(); r != 0 {
		return failed(r, "%s: making a context current", doing)
	}
	return d.try(doing, call)
}

// try makes a call; its error says what the call was for.
func (d *driver) try(doing string, call func(*driver) uintptr) error {
	if r := Result(call(d)); r != 0 {
		return failed(r, "%s", doing)
	}
	return nil
}

// needContext makes the last context current on a thread that has none.
func (d *driver) needContext() Result {
	var current uintptr
	if r := Result(d.ctxGetCurrent.Call(uintptr(unsafe.Pointer(&current)))); r != 0 || current != 0 {
		return r
	}
	if last := lastContext.Load(); last != 0 {
		return Result(d.ctxSetCurrent.Call(last))
	}
	return 0 // the call itself will report that there is no context
}
