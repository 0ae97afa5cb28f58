// Package experiment trains many runs and reports what they show. A Config says which; Plan lists
// the runs, Train makes those that are not in the experiment's log yet, several side by side, and
// Report is made of the log alone. Package compare compares a few runs, mup checks the maximal
// update parametrisation, cards writes a page of models; stats says how sure results are.
package experiment

import (
	"context"

	"github.com/pkg/errors"
)

// SetupError is an error that was found before anything was trained: of an option, a config, the
// text to train on, or a run's folder.
type SetupError struct{ Err error }

// Error is the error's text.
func (e *SetupError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *SetupError) Unwrap() error { return e.Err }

// Setup makes a SetupError of an error. It keeps nil and an interrupt.
func Setup(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &SetupError{err}
}

// Setupf makes a SetupError.
func Setupf(format string, args ...any) error { return Setup(errors.Errorf(format, args...)) }
