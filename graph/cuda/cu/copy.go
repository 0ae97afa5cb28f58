package cu

import "unsafe"

// Copies and fills run in the order of their stream. The calling thread must have the context: see
// CUContext.Lock.

// MemcpyHtoDAsync copies n bytes to the GPU. src must not change until the stream has passed the
// copy.
func MemcpyHtoDAsync(dst DevicePtr, src unsafe.Pointer, n int64, s Stream) error {
	d, err := load()
	if err != nil {
		return err
	}
	if r := Result(d.memcpyHtoDAsync.Quick(src, uintptr(dst), uintptr(src), uintptr(n), s.handle)); r != 0 {
		return failed(r, "copying %d bytes to the GPU at %v", n, dst)
	}
	return nil
}

// MemcpyDtoHAsync copies n bytes from the GPU. dst is complete when the stream has passed the copy,
// and must stay allocated until then.
func MemcpyDtoHAsync(dst unsafe.Pointer, src DevicePtr, n int64, s Stream) error {
	d, err := load()
	if err != nil {
		return err
	}
	if r := Result(d.memcpyDtoHAsync.Quick(dst, uintptr(dst), uintptr(src), uintptr(n), s.handle)); r != 0 {
		return failed(r, "copying %d bytes from the GPU at %v", n, src)
	}
	return nil
}

// MemcpyDtoDAsync copies n bytes on the GPU.
func MemcpyDtoDAsync(dst, src DevicePtr, n int64, s Stream) error {
	d, err := load()
	if err != nil {
		return err
	}
	if r := Result(d.memcpyDtoDAsync.Quick(nil, uintptr(dst), uintptr(src), uintptr(n), s.handle)); r != 0 {
		return failed(r, "copying %d bytes on the GPU from %v to %v", n, src, dst)
	}
	return nil
}

// MemsetD8Async sets n bytes to value.
func MemsetD8Async(dst DevicePtr, value byte, n int64, s Stream) error {
	d, err := load()
	if err != nil {
		return err
	}
	if r := Result(d.memsetD8Async.Quick(nil, uintptr(dst), uintptr(value), uintptr(n), s.handle)); r != 0 {
		return failed(r, "setting %d bytes on the GPU at %v", n, dst)
	}
	return nil
}

// MemsetD32Async sets n words of 32 bits to value. dst must be a multiple of 4.
func MemsetD32Async(dst DevicePtr, value uint32, n int64, s Stream) error {
	d, err := load()
	if err != nil {
		return err
	}
	if r := Result(d.memsetD32Async.Quick(nil, uintptr(dst), uintptr(value), uintptr(n), s.handle)); r != 0 {
		return failed(r, "setting %d words of 32 bits on the GPU at %v", n, dst)
	}
	return nil
}
