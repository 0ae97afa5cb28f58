package checkpoint_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
)

func folderFile(name, text string) checkpoint.FolderFile {
	return checkpoint.FolderFile{Name: name, Write: func(w io.Writer) error { _, err := io.WriteString(w, text); return err }}
}

// TestWriteFolderIsWholeOrNot: whichever step of the file system fails, the old folder or the new
// one is there, whole; without an error it is the new one.
func TestWriteFolderIsWholeOrNot(t *testing.T) {
	for failing := 0; ; failing++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "deep", "folder")
		require.NoError(t, checkpoint.WriteFolder(path, false, folderFile("old", "1")))
		steps := 0
		disk := checkpoint.Disk{Before: func(step, _ string) error {
			if steps++; steps == failing {
				return errors.New("no " + step)
			}
			return nil
		}}
		err := disk.WriteFolder(path, true, folderFile("a", "2"), folderFile("b", "3"))
		entries, readErr := os.ReadDir(path)
		require.NoError(t, readErr, "step %d", failing)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if failing > 0 && steps < failing {
			require.Greater(t, failing, 8)
			return
		}
		if failing == 0 {
			require.NoError(t, err)
			require.Equal(t, []string{"a", "b"}, names)
			continue
		}
		require.Error(t, err)
		require.Contains(t, [][]string{{"old"}, {"a", "b"}}, names)
	}
}

// TestAKilledReplacementIsHealed: if a process ends between two steps, the old folder or the new
// one has the name, or the next call gives it back to the old one; nothing unfinished stays.
func TestAKilledReplacementIsHealed(t *testing.T) {
	type killed struct{}
	for at := 1; ; at++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "folder")
		require.NoError(t, checkpoint.WriteFolder(path, false, folderFile("old", "1")))
		steps, ended := 0, true
		func() {
			defer func() {
				if r := recover(); r != nil {
					require.Equal(t, killed{}, r)
					ended = false
				}
			}()
			disk := checkpoint.Disk{Before: func(string, string) error {
				if steps++; steps == at {
					panic(killed{})
				}
				return nil
			}}
			require.NoError(t, disk.WriteFolder(path, true, folderFile("new", "2")))
		}()
		if ended {
			require.Greater(t, at, 5)
			return
		}
		err := checkpoint.WriteFolder(path, false, folderFile("other", "3"))
		require.ErrorIs(t, err, os.ErrExist, "step %d: what was there is whole", at)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 1, "step %d: nothing unfinished stays", at)
		files, err := os.ReadDir(path)
		require.NoError(t, err)
		require.Len(t, files, 1)
		require.Contains(t, []string{"old", "new"}, files[0].Name())
	}
}

// TestAFolderMovedAsideIsPutBack tests what a process leaves if it is killed where the file system
// cannot swap two names in one step.
func TestAFolderMovedAsideIsPutBack(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".tmp-folder-old-7ffffffe"), 0o777)) // no process has this number
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".tmp-folder-new-7ffffffe"), 0o777))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".tmp-folder-new-00000001"), 0o777)) // process 1 runs
	require.ErrorIs(t, checkpoint.WriteFolder(path, false, folderFile("a", "1")), os.ErrExist)
	require.DirExists(t, path)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}
