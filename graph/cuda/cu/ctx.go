package cu

import "sync"

// Context has the methods that Gorgonia's engine needs from a context.
type Context interface {
	// CUDAContext returns the context itself.
	CUDAContext() CUContext
	// Do calls fn with the context current.
	Do(fn func() error) error
	// Work returns the channel of functions to be run on the engine's thread.
	Work() <-chan func() error
	// ErrChan returns the channel for the errors of those functions.
	ErrChan() chan error
	// Error returns the first error of a call that could not return it.
	Error() error
	// Close releases the context.
	Close() error
}

// Ctx is a Context that runs everything at once, on the caller's thread.
type Ctx struct {
	context CUContext
	close   func() error
}

// CtxFromCUContext wraps a context of the device, and takes over its reference.
func CtxFromCUContext(_ Device, c CUContext, _ ...ContextFlags) *Ctx {
	return &Ctx{context: c, close: sync.OnceValue(c.Release)}
}

// CUDAContext returns the context itself.
func (c *Ctx) CUDAContext() CUContext { return c.context }

// Do calls fn with the context current.
func (c *Ctx) Do(fn func() error) error {
	if err := c.context.Lock(); err != nil {
		return err
	}
	defer c.context.Unlock()
	return fn()
}

// Work returns nil, a channel that never gets a value: Do needs no other thread.
func (c *Ctx) Work() <-chan func() error { return nil }

// ErrChan returns nil: nothing sends to it.
func (c *Ctx) ErrChan() chan error { return nil }

// Error returns nil: Do returns its error.
func (c *Ctx) Error() error { return nil }

// Close releases the context. A second Close does nothing.
func (c *Ctx) Close() error { return c.close() }
