package kernel

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

// upstream is a published module whose source is copied to a folder of the build and changed there:
// by the diff with the folder's name, and by the files in the folder _NAME here.
type upstream struct{ folder, module, version string }

// upstreams are the kernel, which is a program and cannot be imported, and its interpreter.
//
// gophernotes.diff makes gophernotes start with Go 1.26, work in checked notebooks, and stop a cell
// and keep its variables. gomacro.diff lets interpreted code use compiled types that refer to
// themselves, such as []*gorgonia.Node: while gomacro describes Node, it treats pointers to it, and
// slices and maps of it, as unknown (xreflect.Forward), although reflection knows them exactly.
var upstreams = []upstream{
	{"gophernotes", "github.com/gopherdata/gophernotes", "v0.7.5"},
	{"gomacro", "github.com/cosmos72/gomacro", "v0.0.0-20231101204900-3dc08f5f8fea"},
}

// writeSources makes the modules to build. The go.sum of gophernotes' lists what it needs beyond
// Residua, gomacro included, of which the checksum database has no entry.
func writeSources(ctx context.Context, goName, root string) error {
	here := filepath.Join(root, "notebooks", "internal", "kernel")
	sums, err := os.ReadFile(filepath.Join(here, "_gophernotes", "go.sum"))
	if err != nil {
		return errors.Wrap(err, "notebook kernel")
	}
	residuaSums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return errors.Wrap(err, "notebook kernel")
	}
	download := goCommand{name: goName, dir: filepath.Join(Folder(root), "download")}
	for name, text := range map[string]string{"go.mod": "module download\n", "go.sum": string(sums)} {
		if err := writeFile(filepath.Join(download.dir, name), text); err != nil {
			return err
		}
	}
	for _, u := range upstreams {
		if err := u.write(ctx, download, here, filepath.Join(Folder(root), u.folder)); err != nil {
			return errors.Wrapf(err, "notebook kernel: %s %s", u.module, u.version)
		}
	}
	return writeFile(filepath.Join(Folder(root), "gophernotes", "go.sum"), string(residuaSums)+string(sums))
}

// write writes the module's source to a folder, with the changes that lie in the folder here.
func (u upstream) write(ctx context.Context, download goCommand, here, dir string) error {
	source, err := u.source(ctx, download)
	if err != nil {
		return err
	}
	diff, err := os.ReadFile(filepath.Join(here, u.folder+".diff"))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} { // ours replace them
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := applyDiff(dir, string(diff)); err != nil {
		return err
	}
	return os.CopyFS(dir, os.DirFS(filepath.Join(here, "_"+u.folder)))
}

// source returns the module's folder in the module cache, and downloads the module if necessary.
func (u upstream) source(ctx context.Context, g goCommand) (string, error) {
	out, err := g.output(ctx, "mod", "download", "-json", u.module+"@"+u.version)
	var module struct{ Dir, Error string }
	if json.Unmarshal(out, &module) == nil && module.Error != "" {
		return "", errors.New(strings.Join(strings.Fields(module.Error), " "))
	}
	return module.Dir, err
}

// applyDiff changes the files of a folder by a unified diff without line numbers: after "--- FILE",
// each "@@ WHY" begins lines that occur in the file exactly once.
func applyDiff(dir, diff string) error {
	for _, section := range strings.Split("\n"+diff, "\n--- ")[1:] {
		hunks := strings.Split(section, "\n@@ ")
		path := filepath.Join(dir, filepath.FromSlash(hunks[0]))
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(raw)
		for _, hunk := range hunks[1:] {
			why, lines, _ := strings.Cut(hunk, "\n")
			var before, after string
			for line := range strings.Lines(lines + "\n") {
				if line[0] != '+' {
					before += line[1:]
				}
				if line[0] != '-' {
					after += line[1:]
				}
			}
			if n := strings.Count(text, before); n != 1 {
				return errors.Errorf("%s: want %q once, found it %d times; adapt the .diff in notebooks/internal/kernel (%s)", hunks[0], strings.TrimSpace(before), n, why)
			}
			text = strings.Replace(text, before, after, 1)
		}
		if err := writeFile(path, text); err != nil {
			return err
		}
	}
	return nil
}
