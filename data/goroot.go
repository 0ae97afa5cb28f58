package data

import (
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/pkg/errors"
)

// gorootFileLimit is the size in bytes from which files are left out, because such files are
// generated tables.
const gorootFileLimit = 200_000

// gorootSource reads the source text of the Go standard library. Unlike a user's files, it is
// not checked for being text.
type gorootSource struct {
	paths []string      // at most one: the root of a Go installation
	read  *atomic.Int64 // as Options.read
}

func (s gorootSource) Files(ctx context.Context) ([]File, error) {
	root, err := findGoroot(ctx, s.paths)
	if err != nil {
		return nil, err
	}
	src := filepath.Join(root, "src")
	files, err := walk{wanted: func(name string) bool {
		return path.Ext(name) == ".go" && !strings.Contains(path.Dir(name), "testdata")
	}}.files(ctx, src)
	if err != nil {
		return nil, errors.Wrapf(err, "data.source goroot: %s", src)
	}
	files = slices.DeleteFunc(files, func(f File) bool { return f.size >= gorootFileLimit })
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

func (s gorootSource) Read(_ context.Context, f File, enc *Encoder, emit func(Document) error) error {
	text, err := os.ReadFile(f.Disk)
	if err != nil {
		return errors.Wrap(err, "data.source goroot")
	}
	if s.read != nil {
		s.read.Add(int64(len(text)))
	}
	return emit(enc.Document(f.Name, string(text)))
}

// findGoroot returns the root of a Go installation that has its sources: the given path, or
// $GOROOT, or what `go env GOROOT` prints. It does not use runtime.GOROOT, which is empty in a
// program built with -trimpath.
func findGoroot(ctx context.Context, paths []string) (string, error) {
	if len(paths) > 1 {
		return "", errors.Errorf("data.source goroot: want at most one path, the root of a Go installation, got %d: %s; set data.source: files to read text",
			len(paths), strings.Join(paths, ", "))
	}
	if len(paths) == 1 {
		if err := hasSrc(paths[0]); err != nil {
			return "", errors.Errorf("data.source goroot: want a Go installation in data.path: %v; "+
				"set data.source: files to read text, or leave data.path out to use this machine's Go", err)
		}
		return paths[0], nil
	}
	var tried []string
	try := func(what, root string) bool {
		err := hasSrc(root)
		if err != nil {
			tried = append(tried, what+": "+err.Error())
		}
		return err == nil
	}
	if root := os.Getenv("GOROOT"); root == "" {
		tried = append(tried, "$GOROOT: not set")
	} else if try("$GOROOT", root) {
		return root, nil
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	root := strings.TrimSpace(string(out))
	if err != nil {
		tried = append(tried, "go env GOROOT: "+err.Error())
	} else if try("go env GOROOT", root) {
		return root, nil
	}
	return "", errors.Errorf("data.source goroot: no Go installation with sources found; tried %s; "+
		"install Go, set data.path to its root, or use data.source: files", strings.Join(tried, "; "))
}

// hasSrc returns nil if root is a folder with a folder src.
func hasSrc(root string) error {
	info, err := os.Stat(filepath.Join(root, "src"))
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.Errorf("%s is not a folder", filepath.Join(root, "src"))
	}
	return nil
}
