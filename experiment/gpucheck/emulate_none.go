//go:build !cuda

package gpucheck

import (
	"io"

	"github.com/pkg/errors"
)

// Emulate is an error: the emulator is in builds with the tag cuda alone.
func Emulate(io.Writer) error {
	return errors.New("want a gpucheck built with the tag cuda, got one without")
}
