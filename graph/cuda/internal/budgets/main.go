// Command budgets writes kernels.tsv of the folder it is run in, that of package cuda: what ptxas, the
// assembler of the CUDA toolkit, makes of each kernel's PTX for two generations of GPUs.
//
//	cd graph/cuda && go run ./internal/budgets
//
// No GPU is needed. ptxas and nvdisasm are what RESIDUA_PTXAS and RESIDUA_NVDISASM name, or what the shell's path and
// /usr/local/cuda/bin have (pip install nvidia-cuda-nvcc-cu12==12.9.86 nvidia-cuda-nvdisasm).
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/pkg/errors"
)

// tableFile is the committed table.
const tableFile = "kernels.tsv"

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "budgets:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	t, err := findTools()
	if err != nil {
		return err
	}
	rows, err := t.assembleAll(folder)
	if err != nil {
		return err
	}
	return errors.WithStack(os.WriteFile(filepath.Join(folder, tableFile), []byte(format(t.version, rows)), 0o644))
}

// tools are NVIDIA's programs.
type tools struct{ ptxas, nvdisasm, version string }

// findTools finds both.
func findTools() (t tools, err error) {
	if t.ptxas, err = find("RESIDUA_PTXAS", "ptxas"); err != nil {
		return t, err
	}
	if t.nvdisasm, err = find("RESIDUA_NVDISASM", "nvdisasm"); err != nil {
		return t, err
	}
	text, err := exec.Command(t.ptxas, "--version").Output()
	if err != nil {
		return t, errors.Wrap(err, t.ptxas)
	}
	match := versionPattern.FindSubmatch(text)
	if match == nil {
		return t, errors.Errorf("%s: want a version, got %q", t.ptxas, text)
	}
	t.version = string(match[1])
	return t, nil
}

func find(variable, name string) (string, error) {
	if path := os.Getenv(variable); path != "" {
		return path, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	path := filepath.Join("/usr/local/cuda/bin", name)
	_, err := os.Stat(path)
	return path, errors.Wrapf(err, "%s: want it in the shell's path or named by %s (pip install nvidia-cuda-nvcc-cu12 nvidia-cuda-nvdisasm)", name, variable)
}
