package kernel

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestPatchesChangeWhatIsThereOnce(t *testing.T) {
	files := map[string]string{"a.go": "one two three"}
	require.NoError(t, applyPatches(files, []patch{{"a.go", "two", "2", ""}, {"a.go", "2 three", "23", ""}}))
	require.Equal(t, "one 23", files["a.go"])
}

// TestDriftOfTheSourceIsALine: another version of the source than the patches were made for.
func TestDriftOfTheSourceIsALine(t *testing.T) {
	for name, text := range map[string]string{"gone": "zwei", "twice": "two two"} {
		err := applyPatches(map[string]string{"a.go": text}, []patch{{"a.go", "\ttwo\n", "2", "reason"}, {"a.go", "two", "2", "reason"}})
		require.Error(t, err, name)
		require.Contains(t, err.Error(), "a.go")
		require.Contains(t, err.Error(), "patch.go")
		require.NotContains(t, err.Error(), "\n")
	}
	err := applyPatches(map[string]string{}, []patch{{"a.go", "two", "2", ""}})
	require.ErrorContains(t, err, "no file a.go")
}

func TestSourceFilesAreThoseOfTheFolders(t *testing.T) {
	module := fstest.MapFS{}
	for _, name := range []string{
		"main.go", "main_test.go", "go.mod", "README.md", "imports/a.go", "imports/_x/b.go", "imports/testdata/c.go",
		"fast/d.go", "fast/gls/e_amd64.s", "fast/gls/e_test.go", "doc/f.go",
	} {
		module[name] = &fstest.MapFile{Data: []byte(name)}
	}
	files, err := sourceFiles(module, []string{".", "imports"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"main.go": "main.go", "imports/a.go": "imports/a.go"}, files)
	files, err = sourceFiles(module, []string{"fast"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"fast/d.go": "fast/d.go", "fast/gls/e_amd64.s": "fast/gls/e_amd64.s"}, files)
	_, err = sourceFiles(module, []string{"none"})
	require.Error(t, err)
}

func TestOverlayIsAddedToPackages(t *testing.T) {
	for folder, into := range map[string][2]string{"_overlay": {".", "main"}, "_fast": {"fast", "fast"}} {
		files := map[string]string{}
		require.NoError(t, addOverlay(files, folder, into[0]))
		require.NotEmpty(t, files)
		for name, text := range files {
			require.True(t, strings.HasPrefix(name, strings.TrimPrefix(into[0]+"/residua_", "./")), name)
			require.Contains(t, text, "package "+into[1]+"\n", name)
		}
	}
}
