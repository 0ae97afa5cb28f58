package cuda

import "unsafe"

// Executor is what ops start kernels and matrix products on: a Device, which does them in
// order, or a Recorder, which notes them. Calls come back before the work is done, except
// Download and Synchronize.
type Executor interface {
	Precision() Precision
	Multiprocessors() (int, error)
	SharedMemory() (int, error)

	// Enter makes the executor the calling goroutine's and takes all scratch memory back; the
	// returned function ends that. Launch, Gemm and Scratch want it.
	Enter() (leave func(), err error)
	Launch(name string, grid Grid, args ...Arg) error
	Gemm(g Gemm) error
	Scratch(t Type, n int) (Array, error)

	Alloc(t Type, n int) (Array, error)
	Free(a Array)
	Upload(dst Array, src unsafe.Pointer) error
	Download(dst unsafe.Pointer, src Array) error
	Convert(dst, src Array) error
	Zero(a Array) error
	Memory() (free, total int64, err error)
	Synchronize() error
	Close() error
}
