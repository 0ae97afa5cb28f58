package kernel

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// folderOf makes a folder with files.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, writeFile(filepath.Join(dir, name), text))
	}
	return dir
}

func TestADiffChangesWhatIsThereOnce(t *testing.T) {
	dir := folderOf(t, map[string]string{"a.go": "one\ntwo\n\nthree\n", "b/b.go": "x\ny\n"})
	diff := "--- a.go\n@@ why\n one\n-two\n+2\n \n@@ why\n-three\n+3\n+4\n--- b/b.go\n@@ why\n x\n+z\n y\n"
	require.NoError(t, applyDiff(dir, diff))
	for name, want := range map[string]string{"a.go": "one\n2\n\n3\n4\n", "b/b.go": "x\nz\ny\n"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}

// TestDriftOfTheSourceIsALine: if the source is not the version that the diffs were made for, the
// error is one line.
func TestDriftOfTheSourceIsALine(t *testing.T) {
	for name, text := range map[string]string{"gone": "zwei\n", "twice": "two\ntwo\n"} {
		err := applyDiff(folderOf(t, map[string]string{"a.go": text}), "--- a.go\n@@ a reason\n-two\n+2\n")
		require.Error(t, err, name)
		require.Contains(t, err.Error(), "a.go")
		require.Contains(t, err.Error(), "a reason")
		require.Contains(t, err.Error(), ".diff")
		require.NotContains(t, err.Error(), "\n")
	}
	require.ErrorIs(t, applyDiff(t.TempDir(), "--- a.go\n@@ a reason\n-two\n+2\n"), os.ErrNotExist)
}
