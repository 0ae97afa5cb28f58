package commandline

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/badsetting"
	"github.com/residua-go/residua/layers"
)

// Usage marks an error of the call, the config or something they name, for exit code 2. It leaves
// nil and interrupts unchanged.
func Usage(err error) error { return badsetting.Call(err) }

// Usagef makes an error marked by Usage.
func Usagef(format string, args ...any) error { return Usage(errors.Errorf(format, args...)) }

// endingError is an error that ends the process, or all processes of a job, once it is reported.
type endingError struct {
	error
	end func(code int)
}

func (e *endingError) Unwrap() error { return e.error }

// EndingWith returns an error. When Execute has reported it, it calls end with the exit code.
func EndingWith(err error, end func(code int)) error { return &endingError{err, end} }

// Flag makes an error of the call about the named flag.
func Flag(name string, err error) error { return Usage(errors.WithMessage(err, "-"+name)) }

// ByFlag turns a *layers.SettingError, the error of a setting with a bad value, into an error of
// the call about the flag of the same name. It returns other errors unchanged.
func ByFlag(err error) error {
	var bad *layers.SettingError
	if errors.As(err, &bad) {
		return Usagef("-%s: %s", bad.Key, bad.Problem)
	}
	return err
}
