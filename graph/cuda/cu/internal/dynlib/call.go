package dynlib

import (
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// maxArgs is the largest number of arguments of a function that can be called.
const maxArgs = 24

// Call calls the function. A pointer that is converted to uintptr in the call's argument list keeps
// what it points to alive and in place during the call. A C int is returned in the low 32 bits.
//
//go:uintptrescapes
func (f Func) Call(args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(uintptr(f), args...)
	return result
}

// Quick calls the function and allocates nothing. Only the memory that keep points to is kept alive
// and in place: no other argument may be a pointer to Go's memory.
func (f Func) Quick(keep unsafe.Pointer, args ...uintptr) uintptr {
	b := blocks.Get().(*block)
	n := copy(b.args[:], args)
	b.keep = keep
	result, _, _ := purego.SyscallN(uintptr(f), b.args[:n]...)
	b.keep = nil
	blocks.Put(b)
	return result
}

// block holds the arguments of a quick call.
type block struct {
	args [maxArgs]uintptr
	keep unsafe.Pointer
}

var blocks = sync.Pool{New: func() any { return new(block) }}
