//go:build cuda

package emulator

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func newTestBuilder(t *testing.T, kernels string) *builder {
	folder, err := sourceFolder()
	require.NoError(t, err)
	b, err := newBuilder(filepath.Join(folder, "native"), kernels)
	require.NoError(t, err)
	return b
}

// Every kernel file of package cuda compiles for the emulator.
func TestBuildOfTheProduct(t *testing.T) {
	_, failures, err := newTestBuilder(t, "..").build()
	require.NoError(t, err)
	require.Empty(t, failures)
}

// put writes the kernel files of a test.
func put(t *testing.T, folder string, files map[string]string) {
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
}

func TestBuildMakesWhatChanged(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the emulator")
	}
	folder := t.TempDir()
	b := newTestBuilder(t, folder)
	b.cache = t.TempDir()
	prelude, err := os.ReadFile("../prelude.cuh")
	require.NoError(t, err)
	put(t, folder, map[string]string{
		"prelude.cuh": string(prelude),
		"three.cuh":   "const int three = 3;\n",
		"one.cu":      "#include \"prelude.cuh\"\nKERNEL(32) one(int *y) { *y = 1; }\n",
		"two.cu":      "#include \"prelude.cuh\"\n#include \"three.cuh\"\nKERNEL(32) two(int *y) { *y = three; }\n",
	})
	first := buildAtOnce(t, b, 3)
	before := objectsOf(t, b)

	again, failures, err := b.build()
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Empty(t, failures)

	put(t, folder, map[string]string{"three.cuh": "const int three = 33;\n"})
	changed, _, err := b.build()
	require.NoError(t, err)
	require.NotEqual(t, first, changed)
	require.Len(t, objectsOf(t, b), len(before)+1, "two.cu alone is compiled again")

	put(t, folder, map[string]string{"one.cu": "KERNEL(32) one(int *y) { *y = 1; }\n"})
	_, failures, err = b.build()
	require.NoError(t, err)
	require.Len(t, failures, 1)
	require.ErrorContains(t, failures[0], "compiling one.cu for the emulator")
	require.ErrorContains(t, failures[0], "one.cu:1:")
}

// buildAtOnce builds n times concurrently, as the test binaries of several packages do.
func buildAtOnce(t *testing.T, b *builder, n int) string {
	var wait sync.WaitGroup
	folders, all, errs := make([]string, n), make([][]error, n), make([]error, n)
	for i := range n {
		wait.Go(func() { folders[i], all[i], errs[i] = b.build() })
	}
	wait.Wait()
	for i := range n {
		require.NoError(t, errs[i])
		require.Empty(t, all[i])
		require.Equal(t, folders[0], folders[i])
	}
	return folders[0]
}

func objectsOf(t *testing.T, b *builder) []string {
	objects, err := filepath.Glob(filepath.Join(b.cache, "*.o"))
	require.NoError(t, err)
	return objects
}

func TestMissingCompiler(t *testing.T) {
	t.Setenv("CXX", "")
	t.Setenv("PATH", t.TempDir())
	_, err := findCompiler()
	require.ErrorContains(t, err, "want g++, got none; install it")
}
