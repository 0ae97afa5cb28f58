package kernel

import (
	"context"
	"encoding/json"
	"go/format"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

// upstream is a published module whose source is copied to the build folder and changed there.
type upstream struct {
	module, version string
	folders         []string // folders to copy, with their subfolders; "." means only the module's top-level files
	diff            string
	overlay         map[string]string // our folders with files to add, and where to add them
}

// gophernotes returns the kernel, which is a program and cannot be imported.
func gophernotes() upstream {
	return upstream{
		"github.com/gopherdata/gophernotes", "v0.7.5", []string{".", "imports"},
		gophernotesDiff, map[string]string{"_overlay": ".", "_tables": "tables"},
	}
}

// gomacro returns the kernel's interpreter.
func gomacro() upstream {
	return upstream{
		"github.com/cosmos72/gomacro", "v0.0.0-20231101204900-3dc08f5f8fea",
		[]string{"ast2", "atomic", "base", "fast", "gls", "go", "imports", "xreflect"},
		gomacroDiff, map[string]string{"_fast": "fast", "_genimport": "base/genimport"},
	}
}

// write writes the changed files of the module, and ours, to a folder, and removes all other files
// there. It formats Go files, so that tools that format or check the whole tree find nothing to do
// below the build folder.
func (u upstream) write(ctx context.Context, download goCommand, dir string, ours map[string]string) error {
	folder, err := u.folder(ctx, download)
	if err != nil {
		return err
	}
	files, err := sourceFiles(os.DirFS(folder), u.folders)
	if err == nil {
		err = applyDiff(files, u.diff)
	}
	if err != nil {
		return errors.Wrapf(err, "notebook kernel: %s %s", u.module, u.version)
	}
	for from, into := range u.overlay {
		if err := addOverlay(files, from, into); err != nil {
			return err
		}
	}
	maps.Copy(files, ours)
	return writeFolder(dir, files)
}

// folder returns the module's folder in the module cache, and downloads the module if necessary.
func (u upstream) folder(ctx context.Context, g goCommand) (string, error) {
	out, err := g.output(ctx, "mod", "download", "-json", u.module+"@"+u.version)
	var module struct{ Dir, Error string }
	if json.Unmarshal(out, &module) == nil && module.Error != "" {
		return "", errors.Errorf("notebook kernel: %s", oneLine(module.Error))
	}
	if err != nil {
		return "", err
	}
	if module.Dir == "" {
		return "", errors.Errorf("notebook kernel: go mod download: want the folder of %s, got %q", u.module, out)
	}
	return module.Dir, nil
}

// sourceFiles reads the Go and assembly files of folders, without tests.
func sourceFiles(module fs.FS, folders []string) (map[string]string, error) {
	files := map[string]string{}
	for _, folder := range folders {
		err := fs.WalkDir(module, folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() {
				if folder == "." && name != "." || strings.HasPrefix(path.Base(name), "_") || path.Base(name) == "testdata" {
					return fs.SkipDir
				}
				return nil
			}
			if extension := path.Ext(name); extension != ".go" && extension != ".s" || strings.HasSuffix(name, "_test.go") {
				return nil
			}
			text, err := fs.ReadFile(module, name)
			files[name] = string(text)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// writeFolder makes a folder contain exactly these files.
func writeFolder(dir string, files map[string]string) error {
	if err := os.RemoveAll(dir); err != nil {
		return errors.Wrap(err, "notebook kernel")
	}
	for name, text := range files {
		content := []byte(text)
		if path.Ext(name) == ".go" {
			formatted, err := format.Source(content)
			if err != nil {
				return errors.Wrapf(err, "notebook kernel: %s", name)
			}
			content = formatted
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return errors.Wrap(err, "notebook kernel")
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return errors.Wrap(err, "notebook kernel")
		}
	}
	return nil
}
