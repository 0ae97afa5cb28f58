//go:build !cuda

package main

import (
	"io"

	"github.com/pkg/errors"
)

// emulate says that this build has no emulator.
func emulate(io.Writer) error {
	return errors.New("want a gpucheck built with the tag cuda, got one without")
}
