package cu

import (
	"sync"
	"time"
	"unsafe"

	"github.com/pkg/errors"
)

// engineStart is how long Close waits for an engine's goroutine to start.
const engineStart = 2 * time.Second

// BatchedContext is the context that Gorgonia's engines use. Gorgonia's own collects calls and
// sends them to a separate thread; here each call is made at once, on the default stream, on
// the caller's thread, and no work ever waits. Methods that return no error keep their first
// error for Errors. Gorgonia copies it by value many times; all copies refer to the same
// context.
type BatchedContext struct {
	Context
	Device
	state *batchState
}

// batchState is what the copies of a BatchedContext share.
type batchState struct {
	mu     sync.Mutex
	err    error
	closed bool

	idle    chan struct{} // returned by WorkAvailable; Close closes it, for the goroutine that listens
	running chan struct{} // closed when the engine's goroutine begins to listen
	run     func()
	close   func() error
}

// NewBatchedContext returns a context of the device.
func NewBatchedContext(c Context, d Device) *BatchedContext {
	s := &batchState{idle: make(chan struct{}), running: make(chan struct{})}
	s.run = sync.OnceFunc(func() { close(s.running) })
	s.close = sync.OnceValue(func() error { return s.end(c) })
	return &BatchedContext{Context: c, Device: d, state: s}
}

// DoWork does nothing: no work waits.
func (b *BatchedContext) DoWork() {}

// Cleanup does nothing: calls leave nothing behind.
func (b *BatchedContext) Cleanup() {}

// WorkAvailable returns a channel that never gets a value. Close closes it.
func (b *BatchedContext) WorkAvailable() <-chan struct{} { return b.state.idle }

// Work returns a channel that never gets a value. The engine's goroutine calls it when it starts.
func (b *BatchedContext) Work() <-chan func() error {
	b.state.run()
	return b.Context.Work()
}

// Errors returns the first error of a method that returned none, and nil after Close.
func (b *BatchedContext) Errors() error {
	if b.state == nil {
		return nil
	}
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	if b.state.closed {
		return nil
	}
	return b.state.err
}

// Error returns what Errors returns.
func (b *BatchedContext) Error() error { return b.Errors() }

// Close releases the context. A second Close does nothing.
func (b *BatchedContext) Close() error { return b.state.close() }

// end closes the context. If an engine failed before its goroutine ran, it keeps Gorgonia from
// waiting for that goroutine for ever.
func (s *batchState) end(c Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if err := c.Close(); err != nil {
		return err
	}
	select {
	case <-s.running:
		close(s.idle)
		return nil
	case <-time.After(engineStart):
		return errors.New("the engine was closed before it ran")
	}
}

// call makes a driver call for a method that returns no error, and keeps the error.
func (b *BatchedContext) call(doing string, fn func(*driver) uintptr) {
	b.keep(b.Do(func() error {
		d, err := load()
		if err != nil {
			return err
		}
		return d.try(doing, fn)
	}))
}

// keep keeps the first error.
func (b *BatchedContext) keep(err error) {
	if err == nil {
		return
	}
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	if b.state.err == nil {
		b.state.err = err
	}
}

// MemAlloc allocates device memory.
func (b *BatchedContext) MemAlloc(size int64) (p DevicePtr, err error) {
	err = b.Do(func() error {
		p, err = MemAlloc(size)
		return err
	})
	return p, err
}

// Memcpy copies n bytes on the device.
func (b *BatchedContext) Memcpy(dst, src DevicePtr, n int64) {
	if dst == src {
		return
	}
	b.call("copying on the GPU", func(d *driver) uintptr {
		return d.memcpyDtoDAsync.Call(uintptr(dst), uintptr(src), uintptr(n), 0)
	})
}

// MemcpyHtoD copies n bytes to the device.
func (b *BatchedContext) MemcpyHtoD(dst DevicePtr, src unsafe.Pointer, n int64) {
	b.call("copying to the GPU", func(d *driver) uintptr {
		return d.memcpyHtoD.Call(uintptr(dst), uintptr(src), uintptr(n))
	})
}

// MemcpyDtoH copies n bytes from the device after all earlier work is done.
func (b *BatchedContext) MemcpyDtoH(dst unsafe.Pointer, src DevicePtr, n int64) {
	b.call("copying from the GPU", func(d *driver) uintptr {
		return d.memcpyDtoH.Call(uintptr(dst), uintptr(src), uintptr(n))
	})
}

// Synchronize waits until the GPU has done all work.
func (b *BatchedContext) Synchronize() {
	b.call("waiting for the GPU", func(d *driver) uintptr { return d.ctxSynchronize.Call() })
}
