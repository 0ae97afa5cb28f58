package cuda

import "unsafe"

// Executor runs the kernels and matrix products that ops start: it is a Device, which runs them in
// order, or a Recorder, which notes them. Calls return before the work is done, except Download and
// Synchronize.
type Executor interface {
	Precision() Precision
	Multiprocessors() (int, error)
	SharedMemory() (int, error)

	// Enter takes back all scratch memory and makes the executor current for the calling
	// goroutine, until the returned function is called. Launch, Gemm and Scratch require it.
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
