package cu

import (
	"unsafe"

	"github.com/pkg/errors"
)

// Stream is a queue of work on the GPU.
type Stream struct{ handle uintptr }

// NoStream is the default stream, which Gorgonia's copies and launches use.
var NoStream = Stream{}

// StreamFlags say whether a stream waits for the default stream.
type StreamFlags uint32

// The kinds of streams.
const (
	// StreamDefault waits for work on the default stream, and that waits for it: what Gorgonia
	// copies is complete when a kernel needs it.
	StreamDefault StreamFlags = 0
	// StreamNonBlocking runs concurrently with the default stream.
	StreamNonBlocking StreamFlags = 1
)

// NewStream makes a stream.
func NewStream(flags StreamFlags) (Stream, error) {
	var s Stream
	err := anyThread("making a stream", func(d *driver) uintptr {
		return d.streamCreate.Call(uintptr(unsafe.Pointer(&s.handle)), uintptr(flags))
	})
	return s, err
}

// Destroy frees the stream; the work in it is still done.
func (s Stream) Destroy() error {
	return anyThread("giving up a stream", func(d *driver) uintptr { return d.streamDestroy.Call(s.handle) })
}

// Synchronize waits until the stream's work is done. It returns the error of a kernel that failed,
// if no earlier call did.
func (s Stream) Synchronize() error {
	return anyThread("waiting for a stream", func(d *driver) uintptr { return d.streamSynchronize.Call(s.handle) })
}

// Done tells without waiting whether the stream's work is done. It returns the error of a kernel
// that failed, if no earlier call did.
func (s Stream) Done() (bool, error) {
	err := anyThread("asking whether a stream is done", func(d *driver) uintptr { return d.streamQuery.Call(s.handle) })
	if errors.Is(err, notReady) {
		return false, nil
	}
	return err == nil, err
}

// Handle returns the CUstream.
func (s Stream) Handle() uintptr { return s.handle }
