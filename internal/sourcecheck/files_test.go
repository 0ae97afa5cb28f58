package sourcecheck

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var chdir = sync.OnceValue(func() error { return os.Chdir(filepath.Join("..", "..")) })

// atRoot makes the repository's root the working folder. TestMain must not, since go test then
// takes the results of files that have changed from its cache: it would not see where they are.
func atRoot(t *testing.T) {
	t.Helper()
	require.NoError(t, chdir())
}

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
