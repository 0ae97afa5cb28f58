//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	path, version string
	missing       error // why ptxas cannot be used
}

// assemble makes the code of a module for each architecture, unless it exists for this PTX. Without
// ptxas, code for other PTX is removed: drivers then compile the PTX.
func (a *assembler) assemble(module, label string, all bool) error {
	for _, architecture := range architectures {
		output := cubinFile(module, architecture)
		if old, err := readPacked(output); err == nil && !all && strings.HasPrefix(old, label) {
			continue
		}
		if a.path == "" && a.missing == nil {
			if a.missing = a.find(); a.missing != nil {
				fmt.Fprintf(os.Stderr, "code for GPUs is left out: %v\n", a.missing)
			}
		}
		if a.missing != nil {
			if err := os.Remove(output); err != nil && !os.IsNotExist(err) {
				return err
			}
			continue
		}
		ptx, err := readPacked(module + ending)
		if err != nil {
			return err
		}
		code, err := a.run(ptx, architecture)
		if err != nil {
			return errors.Wrap(err, output)
		}
		packed, err := compress(label + "ptxas " + a.version + " " + architecture + "\n" + code)
		if err != nil {
			return err
		}
		if err := replace(output, packed); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembler) find() (err error) {
	if a.path, err = toolkit.Find("RESIDUA_PTXAS", "ptxas"); err == nil {
		a.version, err = toolkit.Version(a.path)
	}
	return err
}

// run assembles PTX.
func (a *assembler) run(ptx, architecture string) (code string, err error) {
	folder, err := os.MkdirTemp("", "ptxgen")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	source, result := filepath.Join(folder, "kernels.ptx"), filepath.Join(folder, "kernels.cubin")
	if err := os.WriteFile(source, []byte(ptx), 0o644); err != nil {
		return "", err
	}
	if log, err := exec.Command(a.path, "-arch="+architecture, "-o", result, source).CombinedOutput(); err != nil {
		return "", errors.Wrapf(err, "ptxas: %s", log)
	}
	text, err := os.ReadFile(result)
	return string(text), err
}
