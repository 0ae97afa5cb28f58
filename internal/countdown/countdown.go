// Package countdown has a context for tests that ends when it has been asked for its error so many times: an interrupt at each
// moment at which a program looks for one.
package countdown

import "context"

// Context ends when Err has been called Left times.
type Context struct {
	context.Context
	Left int // goes on below 0
}

// New returns a context that ends after so many calls.
func New(left int) *Context { return &Context{context.Background(), left} }

// Err returns nil, and context.Canceled when the count is used up.
func (c *Context) Err() error {
	if c.Left--; c.Left < 0 {
		return context.Canceled
	}
	return nil
}
