package data

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// expandPaths returns the files named by the paths of a files or shards source, each once, ordered
// by name and then by path. folder lists the files of a path that is a folder; notes are of globs.
func expandPaths(ctx context.Context, kind string, paths []string, folder func(context.Context, string) ([]File, error), notes *walkNotes) ([]File, error) {
	var all []File
	for i, entry := range paths {
		found, err := expandPath(ctx, entry, folder, notes)
		if err != nil {
			return nil, errors.Wrapf(err, "data.source %s: data.path entry %d", kind, i+1)
		}
		all = append(all, found...)
	}
	seen := map[string]bool{} // files that an earlier path has named
	all = slices.DeleteFunc(all, func(f File) bool {
		where, err := filepath.Abs(f.Disk)
		if err != nil {
			where = f.Disk // there is no working directory
		}
		repeated := seen[where]
		seen[where] = true
		return repeated
	})
	slices.SortStableFunc(all, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func expandPath(ctx context.Context, entry string, folder func(context.Context, string) ([]File, error), notes *walkNotes) ([]File, error) {
	info, err := os.Stat(entry)
	switch {
	case err == nil && info.IsDir():
		return folder(ctx, entry)
	case err == nil:
		return []File{{Name: filepath.Base(entry), Disk: entry, named: true}}, regular.Check(entry, info)
	case errors.Is(err, fs.ErrNotExist) && hasWildcard(entry):
		return glob(ctx, entry, notes)
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.Errorf("%s: no such file or folder; a relative path counts from the folder the program runs in", entry)
	}
	return nil, err
}

func hasWildcard(entry string) bool { return strings.ContainsAny(entry, "*?[") }

// glob returns the files that match a pattern. Names that begin with a dot are matched only by a
// part of the pattern that also begins with one.
func glob(ctx context.Context, pattern string, notes *walkNotes) ([]File, error) {
	parts := strings.Split(filepath.ToSlash(pattern), "/")
	fixed := slices.IndexFunc(parts, hasWildcard)
	root, parts := strings.Join(parts[:fixed], "/"), parts[fixed:]
	switch {
	case fixed == 0:
		root = "."
	case root == "":
		root = "/"
	}
	for _, part := range parts {
		if _, err := path.Match(part, ""); err != nil {
			return nil, errors.Errorf("%s: bad glob: %v in %q", pattern, err, part)
		}
	}
	root = filepath.FromSlash(root)
	if _, err := os.Stat(root); err != nil {
		return nil, errors.Wrapf(err, "glob %s", pattern)
	}
	walk := walk{notes: notes}
	walk.wanted = func(name string) bool {
		matches, _ := matchParts(parts, strings.Split(name, "/"))
		return matches
	}
	walk.enter = func(name string) bool {
		_, below := matchParts(parts, strings.Split(name, "/"))
		return below
	}
	files, err := walk.files(ctx, root)
	for i := range files {
		files[i].named = true
	}
	if err == nil && len(files) == 0 {
		err = errors.New("matches no file")
	}
	return files, errors.Wrapf(err, "glob %s", pattern)
}

// matchParts reports whether the names of a path match the parts of a valid pattern, in which **
// stands for any number of names, and whether those of a path below can. It follows all possible
// matches at once, so that its time is bounded by parts x names.
func matchParts(parts, names []string) (matches, below bool) {
	reached := make([]bool, len(parts)+1) // [i]: the first i parts match the names so far
	reached[0] = true
	for at := 0; ; at++ {
		for p, part := range parts {
			if reached[p] && part == "**" {
				reached[p+1] = true
			}
		}
		if at == len(names) {
			return reached[len(parts)], slices.Contains(reached[:len(parts)], true)
		}
		next := make([]bool, len(reached))
		for p, part := range parts {
			switch {
			case !reached[p]:
			case part == "**":
				next[p] = next[p] || !hidden(names[at])
			case matchName(part, names[at]):
				next[p+1] = true
			}
		}
		reached = next
	}
}

// matchName reports whether a name matches a part of a pattern other than **.
func matchName(part, name string) bool {
	if hidden(name) && !hidden(part) {
		return false
	}
	matches, err := path.Match(part, name)
	return err == nil && matches // glob has checked every part of the pattern
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }
