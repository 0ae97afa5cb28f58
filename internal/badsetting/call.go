package badsetting

import (
	"context"

	"github.com/pkg/errors"
)

// CallError is an error that the caller can fix. It was found before any work: in the call, an
// option, a config, or something that they name.
type CallError struct{ Err error }

// Error returns the wrapped error's text.
func (e *CallError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *CallError) Unwrap() error { return e.Err }

// Call wraps an error in a CallError. It returns nil and interrupts unchanged.
func Call(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &CallError{err}
}
