//go:build !cuda

package gpucheck

import (
	"io"

	"github.com/pkg/errors"
)

// Emulate returns an error: this program was built without the tag cuda.
func Emulate(io.Writer) error {
	return errors.New("want a gpucheck built with the tag cuda, got one without")
}
