package kernel

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuildReportsEachPackageThatItCompiles builds a module of two packages twice: the second time
// nothing is left to compile.
func TestBuildReportsEachPackageThatItCompiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/progress\n\ngo 1.26\n",
		"a/a.go": "package a\n\nconst A = " + "`" + dir + "`\n",
		"b/b.go": "package b\n\nimport \"example.org/progress/a\"\n\nconst B = a.A\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	g := goCommand{name: "go", dir: dir}
	var seen [][2]int
	progress := func(done, total int) { seen = append(seen, [2]int{done, total}) }
	require.NoError(t, g.build(t.Context(), progress, "./..."))
	require.Equal(t, [][2]int{{0, 2}, {1, 2}}, seen)
	seen = nil
	require.NoError(t, g.build(t.Context(), progress, "./..."))
	require.Empty(t, seen)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b", "b.go"), []byte("package b\n\nvar B = missing\n"), 0o644))
	require.ErrorContains(t, g.build(t.Context(), progress, "./..."), "undefined: missing")
}
