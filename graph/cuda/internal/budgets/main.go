// Command budgets writes kernels.tsv in the current folder, which must be the folder of
// package cuda: the resources that ptxas, the assembler of the CUDA toolkit, reports for each
// kernel on two generations of GPUs.
//
//	cd graph/cuda && go run ./internal/budgets
//
// No GPU is needed. ptxas and nvdisasm are the programs that RESIDUA_PTXAS and RESIDUA_NVDISASM
// name, or those in the shell's path or /usr/local/cuda/bin (pip install
// nvidia-cuda-nvcc-cu12==12.9.86 nvidia-cuda-nvdisasm).
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
	return errors.WithStack(os.WriteFile(filepath.Join(folder, tableFile), []byte(format(t.ptxas.Version, rows)), 0o644))
}

// tools are NVIDIA's programs.
type tools struct {
	ptxas    toolkit.Assembler
	nvdisasm string // its path
}

// findTools finds both programs.
func findTools() (t tools, err error) {
	if t.ptxas, err = toolkit.FindAssembler(); err == nil {
		t.nvdisasm, err = toolkit.Find("RESIDUA_NVDISASM", "nvdisasm")
	}
	return t, err
}
