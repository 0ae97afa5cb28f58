//go:build cuda

package gpucheck

import (
	"fmt"
	"io"
	"os"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda/emulator"
)

// Emulate builds the emulator and prints shell commands that make programs use it instead of a GPU.
func Emulate(out io.Writer) error {
	if err := emulator.Use(); err != nil {
		return err
	}
	for _, name := range []string{"RESIDUA_CUDA_DRIVER", "RESIDUA_CUBLAS"} {
		if _, err := fmt.Fprintf(out, "export %s='%s'\n", name, os.Getenv(name)); err != nil {
			return errors.WithStack(err)
		}
	}
	return nil
}
