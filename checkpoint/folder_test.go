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

// TestWriteFolderIsWholeOrNot: whichever step of the file system fails, the old folder or the new one is there, whole, and
// without an error the new one.
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
