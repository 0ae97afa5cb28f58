//go:build linux

// Command ptxgen compiles the CUDA sources in the current folder, *.cu, to PTX in the same folder,
// compressed by zstd (*.ptx.zst), for the oldest GPU that they support; the driver compiles the PTX
// for the GPU that it finds. For some GPUs ptxgen also assembles the PTX (*.cubin.zst), so that the
// driver has nothing to compile. The first line of each file records the hash of its
// sources, and files whose hash is current are left alone. A Go file, modules.go, lists the kernels
// that the PTX declares. See the go:generate line in package cuda.
//
// It needs NVIDIA's runtime compiler, libnvrtc, of CUDA 12 or 13 (pip install
// nvidia-cuda-nvrtc-cu12), and no GPU: the library that RESIDUA_NVRTC names, or the one in the
// loader's path or the toolkit's folder. The assembler, ptxas, is the program that RESIDUA_PTXAS
// names or the one in the shell's path (pip install nvidia-cuda-nvcc). Without it, code for changed
// sources is removed, and drivers compile the PTX.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda/internal/source"
	"github.com/residua-go/residua/graph/cuda/internal/toolkit"
)

func main() {
	only := flag.String("file", "", "compile this .cu file alone")
	all := flag.Bool("all", false, "compile also what has not changed")
	flag.Parse()
	if err := run(*only, *all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run compiles the files in the current folder that have changed. If one does not compile, it goes
// on with the others.
func run(only string, all bool) error {
	names, err := source.Names(".")
	if err != nil {
		return err
	}
	if only != "" {
		names = []string{only}
	} else if err := removeStale(names); err != nil {
		return err
	}
	g := &generator{all: all}
	var failures []string
	for _, name := range names {
		if err := g.generate(name); err != nil {
			failures = append(failures, err.Error())
		}
	}
	if err := writeIndex("."); err != nil {
		failures = append(failures, err.Error())
	}
	if len(failures) > 0 {
		return errors.New("ptxgen: " + strings.Join(failures, "\nptxgen: "))
	}
	return nil
}

// removeStale removes files whose sources no longer exist.
func removeStale(names []string) error {
	outputs, err := filepath.Glob("*.zst")
	if err != nil {
		return err
	}
	for _, output := range outputs {
		if module, _, _ := strings.Cut(output, "."); slices.Contains(names, module+".cu") {
			continue
		}
		if err := os.Remove(output); err != nil {
			return err
		}
	}
	return nil
}

// generator compiles and assembles files; it loads the compiler when the first file needs it.
type generator struct {
	all       bool
	compiler  *compiler
	assembler assembler
}

func (g *generator) generate(name string) error {
	unit, err := source.Read(".", name)
	if err != nil {
		return err
	}
	module, label := strings.TrimSuffix(name, ".cu"), source.Label(unit.Hash())
	if err := g.compile(unit, module+ending, label); err != nil {
		return err
	}
	return g.assembler.assemble(module, label, g.all)
}

// compile makes PTX, unless PTX with the label exists.
func (g *generator) compile(unit *source.Unit, output, label string) (err error) {
	if old, err := toolkit.ReadPacked(output); err == nil && !g.all && strings.HasPrefix(old, label) {
		return nil
	}
	if g.compiler == nil {
		if g.compiler, err = loadCompiler(); err != nil {
			return err
		}
	}
	ptx, log, err := g.compiler.compile(unit)
	if log != "" {
		fmt.Fprintln(os.Stderr, log)
	}
	if err != nil {
		return err
	}
	packed, err := compress(label + g.compiler.String() + "\n" + ptx)
	if err != nil {
		return err
	}
	return os.WriteFile(output, packed, 0o644)
}
