// Package kernel builds the Jupyter kernel that runs the notebooks: gophernotes, a Go interpreter,
// compiled together with our packages and Gorgonia's. Everything is built below one folder and
// nothing is installed. Running the kernel needs no Go, except to show documentation.
//
// gophernotes is a program and not a library: its source and that of its interpreter, gomacro, are
// copied from the module cache, patched for Go 1.26 and our notebooks (patch.go, the .diff files),
// and built with generated tables of what packages export (packages.go, _tables).
package kernel

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
)

// Name is the kernel's name in the metadata of notebooks, DisplayName the one people see.
const (
	Name        = "residua"
	DisplayName = "Go (Residua)"
)

// Build builds the kernel of the module at root below the folder build, with the named go command.
// Jupyter finds the kernel if JUPYTER_PATH contains JupyterPath. The error has one line.
func Build(ctx context.Context, goName, root, build string) error {
	modules, err := newModuleFiles(root, build)
	if err != nil {
		return err
	}
	if err := writeSources(ctx, goName, build, modules); err != nil {
		return err
	}
	g := goCommand{name: goName, dir: filepath.Join(build, "kernel")}
	if _, err := g.output(ctx, append([]string{"run", "./tables"}, Packages()...)...); err != nil {
		return err
	}
	program, err := writeSpec(filepath.Join(JupyterPath(build), "kernels", Name))
	if err != nil {
		return err
	}
	_, err = g.output(ctx, "build", "-o", program, ".")
	return err
}

// writeSources makes the modules to build.
func writeSources(ctx context.Context, goName, build string, modules moduleFiles) error {
	download := goCommand{name: goName, dir: filepath.Join(build, "download")}
	if err := writeFolder(download.dir, modules.download); err != nil {
		return err
	}
	if err := gomacro().write(ctx, download, filepath.Join(build, "gomacro"), modules.gomacro); err != nil {
		return err
	}
	return gophernotes().write(ctx, download, filepath.Join(build, "kernel"), modules.kernel)
}

// JupyterPath returns the folder whose subfolder kernels/ has the kernel built below the folder
// build.
func JupyterPath(build string) string { return filepath.Join(build, "jupyter") }

// spec describes the kernel to Jupyter.
const spec = `{
  "argv": [
    "{resource_dir}/%s",
    "{connection_file}"
  ],
  "display_name": "%s",
  "interrupt_mode": "message",
  "language": "go"
}
`

// writeSpec writes that description and returns the path for the program.
func writeSpec(dir string) (program string, err error) {
	name := "residua-kernel"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(dir, name), writeFolder(dir, map[string]string{"kernel.json": fmt.Sprintf(spec, name, DisplayName)})
}
