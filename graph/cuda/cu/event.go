package cu

import (
	"time"
	"unsafe"
)

// Event is a mark in a stream, for timing.
type Event struct{ handle uintptr }

// NewEvent makes an event that records the time.
func NewEvent() (Event, error) {
	var e Event
	err := anyThread("making an event", func(d *driver) uintptr {
		return d.eventCreate.Call(uintptr(unsafe.Pointer(&e.handle)), 0)
	})
	return e, err
}

// Destroy frees the event.
func (e Event) Destroy() error {
	return anyThread("giving up an event", func(d *driver) uintptr { return d.eventDestroy.Call(e.handle) })
}

// Record puts the event after the work now in the stream. The calling thread must have the context:
// see CUContext.Lock.
func (e Event) Record(s Stream) error {
	d, err := load()
	if err != nil {
		return err
	}
	if r := Result(d.eventRecord.Quick(nil, e.handle, s.handle)); r != 0 {
		return failed(r, "recording an event")
	}
	return nil
}

// Synchronize waits until the stream has reached the event.
func (e Event) Synchronize() error {
	return anyThread("waiting for an event", func(d *driver) uintptr { return d.eventSynchronize.Call(e.handle) })
}

// Elapsed returns the time from start to end, once the stream has passed both.
func Elapsed(start, end Event) (time.Duration, error) {
	var ms float32
	err := anyThread("reading the time between events", func(d *driver) uintptr {
		return d.eventElapsedTime.Call(uintptr(unsafe.Pointer(&ms)), start.handle, end.handle)
	})
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}
