// Package experiment trains many runs and reports their results. A Config describes them; Plan
// lists the runs, Train makes those that are not in the experiment's log yet, several at a time,
// and Report is computed from the log alone. Package internal/stats quantifies how certain
// results are.
package experiment

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/badsetting"
)

// SetupError is an error that was found before any training: in an option, a config, the text to
// train on, or a run's folder.
type SetupError = badsetting.CallError

// setupError wraps an error in a SetupError. It returns nil and interrupts unchanged.
func setupError(err error) error { return badsetting.Call(err) }

// setupErrorf makes a SetupError.
func setupErrorf(format string, args ...any) error { return setupError(errors.Errorf(format, args...)) }
