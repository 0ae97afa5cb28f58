//go:build mpi && linux

package mpi

import (
	"bytes"
	"fmt"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/pkg/errors"

	"github.com/residua-go/residua/trainer/distributed"
)

// largest is the largest number of bytes in one MPI message, whose length is a C int.
const largest = 1 << 30

// transport is one rank's Transport. It holds the memory that MPI writes to, so that Test
// allocates nothing.
type transport struct {
	*library
	comm       uintptr // a duplicate of MPI_COMM_WORLD
	rank, size int
	largest    int   // largest number of bytes in one MPI message
	out        int32 // result of a call
	status     [statusBytes]byte
}

// request is the MPI messages that carry one message, each of at most largest bytes.
type request struct {
	parts   []part
	receive bool
}

type part struct {
	handle uintptr // an MPI_Request, which has 4 or 8 bytes
	data   []byte
}

// Open loads an MPI library: the one that the environment variable RESIDUA_MPI names, or the first
// found next to the launcher or by the loader, of libmpi_abi.so (MPI 5's standard ABI), MPICH's and
// Open MPI's. Start then initialises it.
func Open() (distributed.Transport, error) {
	t := &transport{largest: largest}
	err := keepSignals(func() (err error) {
		t.library, err = load()
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (t *transport) Rank() int    { return t.rank }
func (t *transport) Size() int    { return t.size }
func (t *transport) Name() string { return fmt.Sprintf("%s (%s)", t.version, t.abi.name) }

// Start initialises MPI on the caller's thread.
func (t *transport) Start() error {
	out := unsafe.Pointer(&t.out)
	err := keepSignals(func() error {
		return t.try("MPI_Init_thread", t.initThread, 0, 0, uintptr(t.abi.funneled), uintptr(out))
	})
	if err != nil {
		return err
	}
	if t.out < t.abi.funneled {
		return errors.Errorf("%s: MPI_Init_thread: want MPI_THREAD_FUNNELED (%d), got %d: install a library with support of threads", t.Name(), t.abi.funneled, t.out)
	}
	if err := t.try("MPI_Comm_set_errhandler", t.commSetErrhandler, t.abi.world, t.abi.errorsReturn); err != nil {
		return err
	}
	if err := t.try("MPI_Comm_dup", t.commDup, t.abi.world, uintptr(unsafe.Pointer(&t.comm))); err != nil {
		return err
	}
	if err := t.try("MPI_Comm_rank", t.commRank, t.comm, uintptr(out)); err != nil {
		return err
	}
	t.rank = int(t.out)
	err = t.try("MPI_Comm_size", t.commSize, t.comm, uintptr(out))
	t.size = int(t.out)
	return err
}

func (t *transport) Send(to, tag int, data []byte) (distributed.Request, error) {
	return t.post("MPI_Isend", t.isend, to, tag, data, false)
}

func (t *transport) Receive(from, tag int, data []byte) (distributed.Request, error) {
	return t.post("MPI_Irecv", t.irecv, from, tag, data, true)
}

// post starts the parts of a message.
func (t *transport) post(name string, function uintptr, peer, tag int, data []byte, receive bool) (distributed.Request, error) {
	r := &request{parts: make([]part, (len(data)+t.largest-1)/t.largest), receive: receive}
	for i := range r.parts {
		p := &r.parts[i]
		p.data = data[i*t.largest : min((i+1)*t.largest, len(data))]
		if err := t.try(name, function, uintptr(unsafe.Pointer(unsafe.SliceData(p.data))), uintptr(len(p.data)), t.abi.bytes, uintptr(peer), uintptr(tag), t.comm,
			uintptr(unsafe.Pointer(&p.handle))); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Test drops the parts that are done.
func (t *transport) Test(r distributed.Request) (bool, error) {
	q := r.(*request)
	for len(q.parts) > 0 {
		p := &q.parts[0]
		if err := t.try("MPI_Test", t.test, uintptr(unsafe.Pointer(&p.handle)), uintptr(unsafe.Pointer(&t.out)), uintptr(unsafe.Pointer(&t.status))); err != nil {
			return false, err
		}
		if t.out == 0 {
			return false, nil
		}
		if q.receive {
			if err := t.try("MPI_Get_count", t.getCount, uintptr(unsafe.Pointer(&t.status)), t.abi.bytes, uintptr(unsafe.Pointer(&t.out))); err != nil {
				return false, err
			}
			if int(t.out) != len(p.data) {
				return false, errors.Errorf("want a message of %d bytes, got %d: do all ranks run the same program on the same config?", len(p.data), t.out)
			}
		}
		q.parts = q.parts[1:]
	}
	return true, nil
}

// Abort ends all processes of the job. Before that it gives the launcher time to forward what this
// rank has printed, which would be lost.
func (t *transport) Abort(code int) {
	time.Sleep(300 * time.Millisecond)
	t.call(t.abort, t.abi.world, uintptr(code))
}

// Close finalises MPI and unloads the library. MPICH 5 tells the launcher in a C exit handler that
// its process has finished, and a Go program never runs those; the launcher would take the rank for
// dead and kill the others. Unloading runs them.
func (t *transport) Close() error {
	if err := t.try("MPI_Finalize", t.finalize); err != nil {
		return err
	}
	return errors.WithStack(purego.Dlclose(t.handle))
}

// try calls a function of MPI and turns its error code into an error.
//
//go:uintptrescapes
func (t *transport) try(name string, function uintptr, args ...uintptr) error {
	code := t.call(function, args...)
	if code == 0 {
		return nil
	}
	text, length := make([]byte, 8192), new(int32)
	t.call(t.errorString, uintptr(code), uintptr(unsafe.Pointer(unsafe.SliceData(text))), uintptr(unsafe.Pointer(length)))
	text, _, _ = bytes.Cut(text, []byte{0})
	return errors.Errorf("%s: error %d: %s", name, code, text)
}

// call calls a function of the library, and keeps what its arguments point to.
//
//go:uintptrescapes
func (l *library) call(function uintptr, args ...uintptr) int32 {
	result, _, _ := purego.SyscallN(function, args...)
	return int32(result)
}
