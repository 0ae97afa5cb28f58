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
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda/internal/toolkit"
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
	if t.ptxas, err = toolkit.Find("RESIDUA_PTXAS", "ptxas"); err != nil {
		return t, err
	}
	if t.nvdisasm, err = toolkit.Find("RESIDUA_NVDISASM", "nvdisasm"); err != nil {
		return t, err
	}
	t.version, err = toolkit.Version(t.ptxas)
	return t, err
}
