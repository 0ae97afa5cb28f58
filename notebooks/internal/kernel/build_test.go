package kernel

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPackagesAreListedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range Packages() {
		require.False(t, seen[path], path)
		require.NotContains(t, path, "/internal/")
		seen[path] = true
	}
	require.True(t, seen["gorgonia.org/gorgonia"])
}

func TestMergeSums(t *testing.T) {
	require.Equal(t, "a\nb\nc\n", mergeSums("c\na\n", "b\na"))
}

func TestModuleFiles(t *testing.T) {
	files, err := newModuleFiles("../../..", "../../../build/notebooks")
	require.NoError(t, err)
	require.Contains(t, files.kernel["go.mod"], `github.com/residua-go/residua => "../../.."`)
	require.Contains(t, files.kernel["go.mod"], "\ngodebug gotypesalias=0\n")
	for _, u := range []upstream{gophernotes(), gomacro()} { // the checksum of what is downloaded is known
		require.Equal(t, 2, strings.Count(files.download["go.sum"], u.module+" "+u.version), u.module)
	}
	for _, line := range strings.Fields(requires) {
		if strings.HasPrefix(line, "v") && line != "v0.0.0" {
			require.Contains(t, files.kernel["go.sum"], " "+line)
		}
	}
	_, err = goVersion("module x\n")
	require.Error(t, err)
}

func TestComplaint(t *testing.T) {
	text := "go: downloading x v1\n# example.org/p\np/a.go:3:1: undefined: b\np/a.go:4:1: undefined: c\n"
	require.Equal(t, "p/a.go:3:1: undefined: b", complaint(text, nil))
	require.Equal(t, "EOF", complaint("\n", errEOF{}))
}

type errEOF struct{}

func (errEOF) Error() string { return "EOF" }
