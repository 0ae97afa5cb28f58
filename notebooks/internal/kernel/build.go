// Package kernel builds the Jupyter kernel that runs the notebooks: gophernotes, a Go interpreter,
// compiled together with our packages and Gorgonia's. Everything is built below one folder and
// nothing is installed. Running the kernel needs no Go.
//
// gophernotes is a program and not a library: its source and that of its interpreter, gomacro, are
// copied from the module cache, patched for Go 1.26 and our notebooks (upstream.go, the .diff
// files), and built with generated tables of what packages export (packages.txt,
// _gophernotes/tables).
package kernel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/pkg/errors"
)

// Name is the kernel's name in the metadata of notebooks, DisplayName the one people see.
const (
	Name        = "residua"
	DisplayName = "Go (Residua)"
)

// Build builds the kernel of the module at root below the module's folder build/notebooks, with the
// named go command, and calls progress for each package that is compiled: total counts those that
// the interpreter and the notebooks need. Jupyter finds the kernel if JUPYTER_PATH contains
// JupyterPath. The error has one line.
func Build(ctx context.Context, goName, root string, progress func(done, total int)) error {
	if err := writeSources(ctx, goName, root); err != nil {
		return err
	}
	g := goCommand{name: goName, dir: filepath.Join(Folder(root), "gophernotes")}
	if err := g.build(ctx, progress, append([]string{"./tables", "github.com/cosmos72/gomacro/imports"}, Packages()...)...); err != nil {
		return err
	}
	if _, err := g.output(ctx, append([]string{"run", "./tables"}, Packages()...)...); err != nil {
		return err
	}
	spec := fmt.Sprintf(`{"argv": ["{resource_dir}/%s", "{connection_file}"], "display_name": %q, "interrupt_mode": "message", "language": "go"}`,
		filepath.Base(Program(root)), DisplayName)
	if err := writeFile(filepath.Join(filepath.Dir(Program(root)), "kernel.json"), spec); err != nil {
		return err
	}
	_, err := g.output(ctx, "build", "-o", Program(root), ".")
	return err
}

// Folder returns the folder in which everything is built.
func Folder(root string) string { return filepath.Join(root, "build", "notebooks") }

// JupyterPath returns the folder whose subfolder kernels/ has the kernel.
func JupyterPath(root string) string { return filepath.Join(Folder(root), "jupyter") }

// Program returns the path of the kernel's program.
func Program(root string) string {
	name := "residua-kernel"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(JupyterPath(root), "kernels", Name, name)
}

// writeFile writes a file, and its folder.
func writeFile(path, text string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	return errors.Wrap(err, "notebook kernel")
}
