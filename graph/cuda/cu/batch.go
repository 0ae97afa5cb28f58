package cu

import (
	"sync"
	"time"
	"unsafe"

	"github.com/pkg/errors"
)

// engineStart is how long Close waits for an engine's goroutine to begin.
const engineStart = 2 * time.Second

// BatchedContext is the context of Gorgonia's engines. Gorgonia collects calls and sends
// them to a thread of its own; here each is made at once, on the default stream, on the
// caller's thread, and there is never work to fetch. Calls that return nothing keep their
// first error for Errors. A copy by value, of which Gorgonia makes many, is the same context.
type BatchedContext struct {
	Context
	Device
	state *batchState
}

// batchState is what copies of a BatchedContext share.
type batchState struct {
	mu     sync.Mutex
	err    error
	closed bool

	idle    chan struct{} // WorkAvailable: closed by Close, for the goroutine that listens on it
	running chan struct{} // closed when the engine's goroutine listens
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

// DoWork does nothing: there is no work that waits.
func (b *BatchedContext) DoWork() {}

// Cleanup does nothing: calls leave nothing to clean up.
func (b *BatchedContext) Cleanup() {}

// WorkAvailable returns a channel on which nothing comes. Close closes it.
func (b *BatchedContext) WorkAvailable() <-chan struct{} { return b.state.idle }

// Work returns a channel on which nothing comes. Who asks for it is the engine's goroutine.
func (b *BatchedContext) Work() <-chan func() error {
	b.state.run()
	return b.Context.Work()
}

// Errors returns the first error of a call that returned nothing, and nil after Close.
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

// Error is Errors.
func (b *BatchedContext) Error() error { return b.Errors() }

// Close gives the context up. A second Close does nothing.
func (b *BatchedContext) Close() error { return b.state.close() }

// end closes the context. The error of an engine that failed before its goroutine ran keeps
// Gorgonia from waiting for that goroutine for ever.
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

// call makes a call that returns nothing, and keeps its error.
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

// MemcpyDtoH copies n bytes from the device, when all work before is done.
func (b *BatchedContext) MemcpyDtoH(dst unsafe.Pointer, src DevicePtr, n int64) {
	b.call("copying from the GPU", func(d *driver) uintptr {
		return d.memcpyDtoH.Call(uintptr(dst), uintptr(src), uintptr(n))
	})
}

// Synchronize waits until the GPU has done all work.
func (b *BatchedContext) Synchronize() {
	b.call("waiting for the GPU", func(d *driver) uintptr { return d.ctxSynchronize.Call() })
}
