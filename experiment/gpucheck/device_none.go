//go:build !cuda

package gpucheck

import (
	"io"

	"github.com/pkg/errors"
)

// errNoCUDA is returned by what only builds with the tag cuda can do.
var errNoCUDA = errors.New("want a gpucheck built with the tag cuda, got one without")

// Ceilings returns an error.
func Ceilings(string, int, string, io.Writer) error { return errNoCUDA }

// Emulate returns an error.
func Emulate(io.Writer) error { return errNoCUDA }
