package cli

import (
	"context"

	"github.com/pkg/errors"
)

// usageError is an error that the caller can mend.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// Usage marks an error of the call, the config or what they name: exit code 2. It keeps
// nil, and an interrupt is nobody's mistake.
func Usage(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &usageError{err}
}

// Usagef makes such an error.
func Usagef(format string, args ...any) error { return Usage(errors.Errorf(format, args...)) }
