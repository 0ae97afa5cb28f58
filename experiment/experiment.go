// Package experiment has what the experiments in the packages below it share: compare trains models
// on one budget, mup checks the maximal update parametrisation, cards writes a page of models.
package experiment

import (
	"context"

	"github.com/pkg/errors"
)

// SetupError is an error that was found before anything was trained: of an option, a config, the text
// to train on, or a run's folder.
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
