package kernel

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestADiffChangesWhatIsThereOnce(t *testing.T) {
	files := map[string]string{"a.go": "one\ntwo\n\nthree\n", "b.go": "x\ny\n"}
	diff := "--- a.go\n@@ why\n one\n-two\n+2\n \n@@ why\n-three\n+3\n+4\n--- b.go\n@@ why\n x\n+z\n y\n"
	require.NoError(t, applyDiff(files, diff))
	require.Equal(t, map[string]string{"a.go": "one\n2\n\n3\n4\n", "b.go": "x\nz\ny\n"}, files)
}

// TestDriftOfTheSourceIsALine: if the source is not the version that the diffs were made for, the
// error is one line.
func TestDriftOfTheSourceIsALine(t *testing.T) {
	for name, files := range map[string]map[string]string{"gone": {"a.go": "zwei\n"}, "twice": {"a.go": "two\ntwo\n"}, "no file": {}} {
		err := applyDiff(files, "--- a.go\n@@ a reason\n-two\n+2\n")
		require.Error(t, err, name)
		require.Contains(t, err.Error(), "a.go")
		require.Contains(t, err.Error(), "a reason")
		require.Contains(t, err.Error(), ".diff")
		require.NotContains(t, err.Error(), "\n")
	}
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
	for folder, into := range map[string][2]string{"_overlay": {".", "main"}, "_tables": {"tables", "main"}, "_fast": {"fast", "fast"}, "_genimport": {"base/genimport", "genimport"}} {
		files := map[string]string{}
		require.NoError(t, addOverlay(files, folder, into[0]))
		require.NotEmpty(t, files)
		for name, text := range files {
			require.True(t, strings.HasPrefix(name, strings.TrimPrefix(into[0]+"/residua_", "./")), name)
			require.Contains(t, text, "package "+into[1]+"\n", name)
		}
	}
}
