package cublas

import (
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/cu"
)

// Handle is a cuBLAS handle for the context that was current when it was made. Its products go to
// its stream. Its methods must be called with that context on the calling thread
// (cu.CUContext.Lock), by one goroutine at a time. They allocate nothing.
type Handle struct {
	library *library
	handle  uintptr
	stream  uintptr // CUstream of SetStream
	alpha   uint64  // bits of a product's factors, in the type in which it computes
	beta    uint64
}

// NewHandle makes a handle for the current context.
func NewHandle() (*Handle, error) {
	l, err := load()
	if err != nil {
		return nil, err
	}
	h := &Handle{library: l}
	if s := Status(l.create.Call(uintptr(unsafe.Pointer(&h.handle)))); s != 0 {
		return nil, errors.Wrap(s, "starting cuBLAS")
	}
	return h, nil
}

// Close destroys the handle. It waits for the GPU.
func (h *Handle) Close() error {
	if s := Status(h.library.destroy.Call(h.handle)); s != 0 {
		return errors.Wrap(s, "ending cuBLAS")
	}
	return nil
}

// Version returns the version of cuBLAS, 120103 for 12.1.3.
func (h *Handle) Version() (int, error) {
	var version int32
	if s := Status(h.library.getVersion.Call(h.handle, uintptr(unsafe.Pointer(&version)))); s != 0 {
		return 0, errors.Wrap(s, "asking cuBLAS for its version")
	}
	return int(version), nil
}

// SetStream makes the following products, by Matmuls too, go to the stream. It undoes SetWorkspace,
// without which a stream that captures must not get a product of cuBLAS.
func (h *Handle) SetStream(s cu.Stream) error {
	if status := Status(h.library.setStream.Call(h.handle, s.Handle())); status != 0 {
		return errors.Wrap(status, "giving cuBLAS a stream")
	}
	h.stream = s.Handle()
	return nil
}

// SetWorkspace gives cuBLAS memory to use instead of its own; the address must be a multiple
// of 256. NVIDIA recommends 32 MiB for an H100 and 4 MiB for an A100.
func (h *Handle) SetWorkspace(p cu.DevicePtr, size int64) error {
	if s := Status(h.library.setWorkspace.Call(h.handle, uintptr(p), uintptr(size))); s != 0 {
		return errors.Wrapf(s, "giving cuBLAS a workspace of %d bytes", size)
	}
	return nil
}

// SetMathMode sets the mode of the following products.
func (h *Handle) SetMathMode(m MathMode) error {
	if s := Status(h.library.setMathMode.Call(h.handle, uintptr(m))); s != 0 {
		return errors.Wrap(s, "setting the mode of cuBLAS")
	}
	return nil
}
