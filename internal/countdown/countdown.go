// Package countdown has a context for tests that ends after its error has been asked for a given
// number of times: tests use it to interrupt a program at each moment at which it checks its
// context.
package countdown

import "context"

// Context ends when Err has been called Left times.
type Context struct {
	context.Context
	Left int // keeps counting below 0
}

// New returns a context that ends after left calls of Err.
func New(left int) *Context { return &Context{context.Background(), left} }

// Err returns nil until the count is used up, then context.Canceled.
func (c *Context) Err() error {
	if c.Left--; c.Left < 0 {
		return context.Canceled
	}
	return nil
}
