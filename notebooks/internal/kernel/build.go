// Package kernel builds the Jupyter kernel that runs the notebooks: gophernotes, a Go
// interpreter, with our packages and Gorgonia's compiled in. Everything is made below a build
// folder; nothing is installed, and running the kernel needs no Go, except to show documentation.
//
// gophernotes is a program, not a library: its source and that of its interpreter, gomacro, are
// copied from the module cache, changed where Go 1.26 and our notebooks want it (patch.go), and
// built with generated tables of what packages export (packages.go).
package kernel

import (
	"context"
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pkg/errors"
)

// Name is the kernel's name in the metadata of notebooks, DisplayName the one people see.
const (
	Name        = "residua"
	DisplayName = "Go (Residua)"
)

// Build builds the kernel of the module at root below the folder build, by the named go command;
// Jupyter finds it when JupyterPath is in JUPYTER_PATH. A second call builds what has changed.
// The error is one line.
func Build(ctx context.Context, goName, root, build string) error {
	modules, err := newModuleFiles(root, build)
	if err != nil {
		return err
	}
	if err := writeSources(ctx, goName, build, modules); err != nil {
		return err
	}
	program, err := writeSpec(filepath.Join(JupyterPath(build), "kernels", Name))
	if err != nil {
		return err
	}
	g := goCommand{name: goName, dir: filepath.Join(build, "kernel")}
	if _, err := g.output(ctx, "build", "-o", program, "."); err != nil {
		return err
	}
	return check(ctx, program)
}

// writeSources makes the modules to build.
func writeSources(ctx context.Context, goName, build string, modules moduleFiles) error {
	kernelDir, gomacroDir, downloadDir := filepath.Join(build, "kernel"), filepath.Join(build, "gomacro"), filepath.Join(build, "download")
	if err := writeFolder(downloadDir, modules.download); err != nil {
		return err
	}
	download := goCommand{name: goName, dir: downloadDir}
	gophernotes, gomacro := upstreams()
	files, err := gomacro.source(ctx, download)
	if err != nil {
		return err
	}
	if err := addOverlay(files, "_fast", "fast"); err != nil {
		return err
	}
	maps.Copy(files, modules.gomacro)
	if err := writeFolder(gomacroDir, files); err != nil {
		return err
	}
	if files, err = gophernotes.source(ctx, download); err != nil {
		return err
	}
	if err := addOverlay(files, "_overlay", "."); err != nil {
		return err
	}
	maps.Copy(files, modules.kernel)
	if err := writeFolder(kernelDir, files); err != nil {
		return err
	}
	g := goCommand{name: goName, dir: kernelDir}
	return writeTables(ctx, g)
}

// writeTables generates the tables of Packages into the kernel's module.
func writeTables(ctx context.Context, g goCommand) error {
	packages, err := loadPackages(ctx, g, Packages())
	if err != nil {
		return err
	}
	var tables []table
	for _, p := range packages {
		t := newTable(p)
		if t.empty() {
			continue
		}
		tables = append(tables, t)
		text, err := t.source()
		if err != nil {
			return err
		}
		if err := writeChanged(filepath.Join(g.dir, t.file()), text); err != nil {
			return err
		}
	}
	index, err := indexSource(tables)
	if err != nil {
		return err
	}
	return writeChanged(filepath.Join(g.dir, "tables.go"), index)
}

// JupyterPath is the folder whose kernels/ has the kernel built below the folder build.
func JupyterPath(build string) string { return filepath.Join(build, "jupyter") }

// writeSpec writes what Jupyter finds the kernel by and returns where the program belongs.
func writeSpec(dir string) (program string, err error) {
	name := "residua-kernel"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	spec := map[string]any{
		"argv":           []string{"{resource_dir}/" + name, "{connection_file}"},
		"display_name":   DisplayName,
		"interrupt_mode": "message",
		"language":       "go",
	}
	text, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return "", errors.Wrap(err, "notebook kernel")
	}
	return filepath.Join(dir, name), writeChanged(filepath.Join(dir, "kernel.json"), append(text, '\n'))
}

// check lets the built kernel try out its tables and what patches change.
func check(ctx context.Context, program string) error {
	out, err := exec.CommandContext(ctx, program, "check").CombinedOutput()
	if err == nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "cell ") || strings.HasPrefix(line, "panic:") {
			return errors.Errorf("notebook kernel: %s", strings.TrimSpace(line))
		}
	}
	return errors.Wrap(err, "notebook kernel: check")
}
