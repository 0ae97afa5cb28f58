package kernel

import (
	"os"
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

// TestChecksumsAreKnown requires the checksums of what is downloaded, and of what the go.mod of the
// kernel lists.
func TestChecksumsAreKnown(t *testing.T) {
	sums, err := os.ReadFile("_gophernotes/go.sum")
	require.NoError(t, err)
	for _, u := range upstreams {
		require.Equal(t, 2, strings.Count(string(sums), u.module+" "+u.version), u.module)
	}
	mod, err := os.ReadFile("_gophernotes/go.mod")
	require.NoError(t, err)
	for _, version := range strings.Fields(string(mod)) {
		if strings.HasPrefix(version, "v") && version != "v0.0.0" && strings.Contains(version, ".") && !strings.HasSuffix(version, ",") {
			require.Contains(t, string(sums), " "+version)
		}
	}
}

func TestComplaint(t *testing.T) {
	text := "go: downloading x v1\n# example.org/p\np/a.go:3:1: undefined: b\np/a.go:4:1: undefined: c\n"
	require.Equal(t, "p/a.go:3:1: undefined: b", complaint(text, nil))
	require.Equal(t, "EOF", complaint("\n", errEOF{}))
}

type errEOF struct{}

func (errEOF) Error() string { return "EOF" }
