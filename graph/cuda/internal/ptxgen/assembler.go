//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda/internal/toolkit"
)

// architectures are the generations of GPUs for which code is kept in addition to the PTX.
var architectures = []string{"sm_90"}

// cubinFile returns the file for a module's code for an architecture. It is compressed, and begins
// with a line like the PTX's first.
func cubinFile(module, architecture string) string { return module + "." + architecture + ".cubin.zst" }

// assembler is ptxas, which is looked for when the first module needs it.
type assembler struct {
	toolkit.Assembler
	missing error // why ptxas cannot be used
}

// assemble makes the code of a module for each architecture, unless it exists for this PTX. Without
// ptxas, code for other PTX is removed: drivers then compile the PTX.
func (a *assembler) assemble(module, label string, all bool) error {
	for _, architecture := range architectures {
		output := cubinFile(module, architecture)
		if old, err := toolkit.ReadPacked(output); err == nil && !all && strings.HasPrefix(old, label) {
			continue
		}
		if a.Path == "" && a.missing == nil {
			if a.Assembler, a.missing = toolkit.FindAssembler(); a.missing != nil {
				fmt.Fprintf(os.Stderr, "code for GPUs is left out: %v\n", a.missing)
			}
		}
		if a.missing != nil {
			if err := os.Remove(output); err != nil && !os.IsNotExist(err) {
				return err
			}
			continue
		}
		ptx, err := toolkit.ReadPacked(module + ending)
		if err != nil {
			return err
		}
		code, _, err := a.Assemble(ptx, architecture)
		if err != nil {
			return errors.Wrap(err, output)
		}
		packed, err := compress(label + "ptxas " + a.Version + " " + architecture + "\n" + string(code))
		if err != nil {
			return err
		}
		if err := os.WriteFile(output, packed, 0o644); err != nil {
			return err
		}
	}
	return nil
}
