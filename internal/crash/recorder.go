package crash

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
)

// recorder follows a work's steps and copies what deaths at some of them would leave. It knows
// which contents of files and which entries of folders have been flushed to the device.
type recorder struct {
	t    testing.TB
	base string // holds the work's folder
	draw *rand.Rand
	kind Kind
	// others is the folder of Work.Others, relative to base, or "". All that it holds counts as
	// flushed.
	others string
	at     func(n int, step string) bool // whether the death is at this step

	n          int
	step, path string // under way; step "": none yet
	chosen     bool   // whether the death is at this step
	old        []byte // content of the file before the step, of kind Half

	tree    map[string]node        // what is there, by path relative to base
	flushed map[int][]byte         // flushed content of files
	entries map[int]map[string]int // flushed entries of folders
	folders map[int]bool           // nodes that are folders
	nodes   int
	deaths  []death
}

// node is a file or folder, whatever its name is by now.
type node struct {
	id   int
	info fs.FileInfo
}

// death holds the copy of a folder that a death leaves, and says at which step and how the death
// came.
type death struct{ base, what string }

// newRecorder follows what happens in base, all of which has been flushed.
func newRecorder(t testing.TB, base string, draw *rand.Rand) *recorder {
	r := &recorder{t: t, base: base, draw: draw, tree: map[string]node{}, flushed: map[int][]byte{}, entries: map[int]map[string]int{}, folders: map[int]bool{}}
	r.look()
	for path := range r.tree {
		r.flush(path)
	}
	return r
}

// disk returns the disk to work on.
func (r *recorder) disk() checkpoint.Disk {
	return checkpoint.Disk{Before: func(step, path string) error {
		r.finished()
		r.step, r.path = step, path
		r.chosen = r.at(r.n, step)
		if r.chosen {
			switch r.kind {
			case Before:
				r.died(r.copied())
			case Unsynced:
				r.died(r.lost())
			case Half:
				r.old, _ = os.ReadFile(path) // no file yet: nothing
				if step == "remove" {
					r.died(r.halfRemoved())
				}
			}
		}
		r.n++
		return nil
	}}
}

// end tells that the work has ended.
func (r *recorder) end() { r.finished() }

// finished takes note of what the step under way has done.
func (r *recorder) finished() {
	if r.step == "" {
		return
	}
	r.look()
	if rel, err := filepath.Rel(r.base, r.path); r.step == "sync" && err == nil {
		r.flush(rel)
	}
	switch {
	case r.chosen && r.kind == After:
		r.died(r.copied())
	case r.chosen && r.kind == Half && r.step == "write":
		r.died(r.halfWritten())
	}
	r.step = ""
}

// look finds what is there by now, and which of it was there before, under the same name or
// another.
func (r *recorder) look() {
	now := map[string]node{}
	require.NoError(r.t, filepath.WalkDir(r.base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(r.base, path)
		n := node{r.known(rel, info), info}
		now[rel], r.folders[n.id] = n, d.IsDir()
		return nil
	}))
	r.tree = now
	for path := range now {
		if r.others != "" && (path == r.others || strings.HasPrefix(path, r.others+string(filepath.Separator))) {
			r.flush(path)
		}
	}
}

// known returns the number of the node that is at a path now.
func (r *recorder) known(rel string, info fs.FileInfo) int {
	created := r.step == "create" && filepath.Join(r.base, rel) == r.path
	if before, ok := r.tree[rel]; ok && !created && os.SameFile(before.info, info) {
		return before.id
	}
	if r.step == "rename" {
		for _, before := range r.tree {
			if os.SameFile(before.info, info) {
				return before.id
			}
		}
	}
	r.nodes++
	return r.nodes
}

// flush takes note that a file's content or a folder's entries are on the device.
func (r *recorder) flush(rel string) {
	n, ok := r.tree[rel]
	if !ok {
		return
	}
	if !n.info.IsDir() {
		content, err := os.ReadFile(filepath.Join(r.base, rel))
		require.NoError(r.t, err)
		r.flushed[n.id] = content
		return
	}
	r.entries[n.id] = r.children(rel)
}

// children returns the entries that a folder has now.
func (r *recorder) children(rel string) map[string]int {
	all := map[string]int{}
	for path, n := range r.tree {
		if path != rel && filepath.Dir(path) == filepath.Clean(rel) {
			all[filepath.Base(path)] = n.id
		}
	}
	return all
}

// died keeps a death. Temporary files in its copy get the name of a process that does not run.
func (r *recorder) died(base string) {
	ours, dead := fmt.Sprintf("-%08x", os.Getpid()), fmt.Sprintf("-%08x", 1<<31-1)
	require.NoError(r.t, filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.Contains(d.Name(), ours) {
			return err
		}
		if err := os.Rename(path, filepath.Join(filepath.Dir(path), strings.Replace(d.Name(), ours, dead, 1))); err != nil || !d.IsDir() {
			return err
		}
		return fs.SkipDir
	}))
	r.deaths = append(r.deaths, death{base, fmt.Sprintf("step %d, %s %s, %s", r.n, r.step, r.path, r.kind)})
}

// empty returns a new folder.
func (r *recorder) empty() string {
	base, err := os.MkdirTemp(r.t.TempDir(), "")
	require.NoError(r.t, err)
	return base
}

// copied returns a copy of what is there.
func (r *recorder) copied() string {
	base := r.empty()
	require.NoError(r.t, os.CopyFS(base, os.DirFS(r.base)))
	return base
}

// halfWritten returns a copy in which half of what a write has changed is as before.
func (r *recorder) halfWritten() string {
	base := r.copied()
	rel, err := filepath.Rel(r.base, r.path)
	require.NoError(r.t, err)
	content, err := os.ReadFile(r.path)
	require.NoError(r.t, err)
	if grown := len(content) - len(r.old); grown > 0 {
		content = content[:len(r.old)+grown/2]
	} else {
		from, to := 0, min(len(content), len(r.old))
		for from < to && content[from] == r.old[from] {
			from++
		}
		for to > from && content[to-1] == r.old[to-1] {
			to--
		}
		copy(content[(from+to)/2:to], r.old[(from+to)/2:to])
	}
	require.NoError(r.t, os.WriteFile(filepath.Join(base, rel), content, 0o666))
	return base
}

// halfRemoved returns a copy in which half of what is to be removed is gone.
func (r *recorder) halfRemoved() string {
	base := r.copied()
	rel, err := filepath.Rel(r.base, r.path)
	require.NoError(r.t, err)
	entries, _ := os.ReadDir(filepath.Join(base, rel)) // a file: none
	for _, e := range entries {
		if r.draw.IntN(2) == 0 {
			require.NoError(r.t, os.RemoveAll(filepath.Join(base, rel, e.Name())))
		}
	}
	return base
}

// lost returns what is on the device if the machine stops now. A folder that has been changed since
// it was flushed may be as it was then, or as it is now. A file may be as it was, or have half of
// what was added, or zeros instead.
func (r *recorder) lost() string {
	base := r.empty()
	paths := map[int]string{}
	for path, n := range r.tree {
		paths[n.id] = path
	}
	r.restore(base, r.tree["."].id, paths)
	return base
}

// restore makes the flushed form of a node at a path.
func (r *recorder) restore(to string, id int, paths map[int]string) {
	from, there := paths[id]
	if !r.folders[id] {
		require.NoError(r.t, os.WriteFile(to, r.content(id, from, there), 0o666))
		return
	}
	require.NoError(r.t, os.MkdirAll(to, 0o777))
	entries := r.entries[id]
	if there && r.draw.IntN(2) == 0 {
		entries = r.children(from)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		r.restore(filepath.Join(to, name), entries[name], paths)
	}
}

// content returns what the device has of a file.
func (r *recorder) content(id int, path string, there bool) []byte {
	flushed := r.flushed[id]
	if !there {
		return flushed
	}
	now, err := os.ReadFile(filepath.Join(r.base, path))
	require.NoError(r.t, err)
	switch added := len(now) - len(flushed); r.draw.IntN(4) {
	case 0:
		return now
	case 1:
		if added > 0 {
			return now[:len(flushed)+added/2]
		}
	case 2:
		if added > 0 {
			return append(append([]byte(nil), flushed...), make([]byte, added)...)
		}
	}
	return flushed
}
