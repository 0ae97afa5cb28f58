// Package experiment trains many runs and reports their results. A Config describes them; Plan
// lists the runs, Train makes those that are not in the experiment's log yet, several at a time,
// and Report is computed from the log alone. Subpackage stats quantifies how certain results are.
package experiment

import (
	"context"

	"github.com/pkg/errors"
)

// SetupError is an error that was found before any training: in an option, a config, the text to
// train on, or a run's folder.
type SetupError struct{ Err error }

// Error returns the wrapped error's text.
func (e *SetupError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *SetupError) Unwrap() error { return e.Err }

// Setup wraps an error in a SetupError. It returns nil and interrupts unchanged.
func Setup(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &SetupError{err}
}

// Setupf makes a SetupError.
func Setupf(format string, args ...any) error { return Setup(errors.Errorf(format, args...)) }
