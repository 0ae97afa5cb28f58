package cli

import (
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/layers"
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

// Flag makes an error one of the flag of a name.
func Flag(name string, err error) error { return Usage(errors.WithMessage(err, "-"+name)) }

// ByFlag turns the error of a setting with a bad value, a *layers.SettingError, into one of the flag of that name that
// is marked by Usage. It keeps all others.
func ByFlag(err error) error {
	var bad *layers.SettingError
	if errors.As(err, &bad) {
		return Usagef("-%s: %s", bad.Key, bad.Problem)
	}
	return err
}
