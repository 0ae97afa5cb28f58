//go:build cuda

package gpucheck

import (
	"fmt"
	"io"
	"os"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/internal/roofline"
	"github.com/residua-go/residua/models"
)

// Ceilings measures on the GPU the limits of a preset's training step: how fast the device copies
// memory and multiplies the step's matrices.
func Ceilings(preset string, batch int, precision string, out io.Writer) error {
	p, err := models.Standard().Preset(preset)
	if err != nil {
		return err
	}
	spec, err := p.Config.Resolve()
	if err != nil {
		return err
	}
	return roofline.Ceilings(spec, roofline.Options{Batch: batch, Precision: graph.Precision(precision)}, out)
}

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
