package sourcecheck

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// files lists the repository's files with one of the extensions, those of other modules and of
// testdata included, relative to the root.
func files(t *testing.T, extensions ...string) (paths []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(name, ".") || slices.Contains([]string{"build", "runs"}, name)):
			return filepath.SkipDir
		case !entry.IsDir() && slices.Contains(extensions, filepath.Ext(path)):
			paths = append(paths, filepath.ToSlash(path))
		}
		return nil
	}))
	require.Greater(t, len(paths), 1000)
	return paths
}
