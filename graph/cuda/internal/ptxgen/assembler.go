//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda/internal/toolkit"
)

// architectures are the generations of GPUs for which code is kept in addition to the PTX. The code
// for sm_80 runs on every GPU of compute capability 8, that for sm_90 on those of 9, and so on.
var architectures = []string{"sm_80", "sm_90", "sm_100"}

// assembler is ptxas, which is looked for when the first module needs it.
type assembler struct {
	toolkit.Assembler
	missing error // why ptxas cannot be used
}

// assemble makes a module's code for all architectures, unless it exists for this PTX. Its file is
// compressed, and begins with a line like the PTX's first, which also lists the architectures and
// the sizes of their codes. Codes for two architectures have much in common: one file of all is a
// fifth smaller than a file for each. Without ptxas, code for other PTX is removed: drivers then
// compile the PTX.
func (a *assembler) assemble(module, label string, all bool) error {
	output := module + ".cubin.zst"
	if old, err := toolkit.ReadPacked(output); err == nil && !all && strings.HasPrefix(old, label) {
		return nil
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
		return nil
	}
	ptx, err := toolkit.ReadPacked(module + ending)
	if err != nil {
		return err
	}
	line, codes := label+"ptxas "+a.Version, ""
	for _, architecture := range architectures {
		code, _, err := a.Assemble(ptx, architecture)
		if err != nil {
			return errors.Wrapf(err, "%s: %s", output, architecture)
		}
		line += fmt.Sprintf(" %s:%d", architecture, len(code))
		codes += string(code)
	}
	packed, err := compress(line + "\n" + codes)
	if err != nil {
		return err
	}
	return os.WriteFile(output, packed, 0o644)
}
