package cuda

import (
	"unsafe"

	"github.com/pkg/errors"
)

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

// Capturer is an Executor that can record work and start it again later, with less work for the
// host than starting each part of it.
type Capturer interface {
	Executor
	// Capture records what f starts, without doing it. Nothing in f may copy from or to the host or
	// wait. The error wraps ErrStale if f took scratch memory that it did not find: run f, then try
	// again.
	Capture(f func() error) (Replay, error)
}

// Replay is recorded work. It uses the arrays that it was recorded with.
type Replay interface {
	// Launch starts the work. The error wraps ErrStale, and nothing is started, if the scratch
	// memory has moved since.
	Launch() error
	Close() error
}

// ErrStale says that recorded work uses scratch memory that is no longer there.
var ErrStale = errors.New("recorded work: the scratch memory has moved: record it again")
