package kernel

import (
	"context"
	"encoding/json"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// upstream is a published module whose source is copied into the build folder and changed there.
type upstream struct {
	module, version string
	folders         []string // that are copied, with those below; "." is the module's own files
	patches         []patch
}

// upstreams returns the kernel, which is a program and cannot be imported, and the interpreter
// that it is made of.
func upstreams() (gophernotes, gomacro upstream) {
	gophernotes = upstream{
		module: "github.com/gopherdata/gophernotes", version: "v0.7.5",
		folders: []string{".", "imports"}, patches: gophernotesPatches(),
	}
	gomacro = upstream{
		module: "github.com/cosmos72/gomacro", version: "v0.0.0-20231101204900-3dc08f5f8fea",
		folders: []string{"ast2", "atomic", "base", "fast", "gls", "go", "imports", "xreflect"}, patches: gomacroPatches(),
	}
	return gophernotes, gomacro
}

// source returns the module's files, changed, by their paths in the module. They come from the
// module cache or, if they are not there, from the module proxy.
func (u upstream) source(ctx context.Context, g goCommand) (map[string]string, error) {
	folder, err := u.folder(ctx, g)
	if err != nil {
		return nil, err
	}
	files, err := sourceFiles(os.DirFS(folder), u.folders)
	if err != nil {
		return nil, errors.Wrapf(err, "notebook kernel: source of %s %s", u.module, u.version)
	}
	if err := applyPatches(files, u.patches); err != nil {
		return nil, errors.Wrapf(err, "notebook kernel: %s %s", u.module, u.version)
	}
	return files, nil
}

// folder returns where the module cache has the module.
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

// writeFolder makes a folder hold these files and no others; files with the same content are
// left alone, so that a build finds nothing new. Go files are formatted: who formats or checks
// the whole tree finds nothing to do below the build folder.
func writeFolder(dir string, files map[string]string) error {
	for name, text := range files {
		content := []byte(text)
		if path.Ext(name) == ".go" {
			formatted, err := format.Source(content)
			if err != nil {
				return errors.Wrapf(err, "notebook kernel: %s", name)
			}
			content = formatted
		}
		if err := writeChanged(filepath.Join(dir, filepath.FromSlash(name)), content); err != nil {
			return err
		}
	}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		if _, wanted := files[filepath.ToSlash(name)]; !wanted {
			return os.Remove(file)
		}
		return nil
	})
	return errors.Wrap(err, "notebook kernel")
}

// writeChanged writes a file unless it has this content.
func writeChanged(file string, content []byte) error {
	if old, err := os.ReadFile(file); err == nil && slices.Equal(old, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return errors.Wrap(err, "notebook kernel")
	}
	return errors.Wrap(os.WriteFile(file, content, 0o644), "notebook kernel")
}
