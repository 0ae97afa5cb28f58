package cu

import "sync"

// Context is what Gorgonia's engine asks of a context.
type Context interface {
	// CUDAContext returns the context itself.
	CUDAContext() CUContext
	// Do calls fn with the context current.
	Do(fn func() error) error
	// Work returns the channel of functions that others want run on the engine's thread.
	Work() <-chan func() error
	// ErrChan returns the channel for what those functions returned.
	ErrChan() chan error
	// Error returns the first error of a call that could not return it.
	Error() error
	// Close gives the context up.
	Close() error
}

// Ctx is a Context that runs everything at once, on the caller's thread.
type Ctx struct {
	context CUContext
	close   func() error
}

// CtxFromCUContext wraps a context of the device, and takes its hold over.
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

// Work returns a channel on which nothing comes: Do needs no other thread.
func (c *Ctx) Work() <-chan func() error { return nil }

// ErrChan returns a channel for the errors of Work; it has no use.
func (c *Ctx) ErrChan() chan error { return nil }

// Error returns nil: Do returns its error.
func (c *Ctx) Error() error { return nil }

// Close releases the context. A second Close does nothing.
func (c *Ctx) Close() error { return c.close() }
