//go:build cuda

package emulator

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// sources returns the folder of the emulator's sources.
func sources(t *testing.T) string {
	folder, err := filepath.Abs("native")
	require.NoError(t, err)
	return folder
}

// Every kernel file of package cuda compiles for the emulator.
func TestBuildOfTheProduct(t *testing.T) {
	kernels, err := filepath.Abs("..")
	require.NoError(t, err)
	require.NoError(t, build(sources(t), kernels, filepath.Join(buildFolder(sources(t)), "cuda")))
}

// put writes the kernel files of a test.
func put(t *testing.T, folder string, files map[string]string) {
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
}

func TestBuildMakesWhatChanged(t *testing.T) {
	folder, libraries := t.TempDir(), t.TempDir()
	prelude, err := os.ReadFile("../prelude.cuh")
	require.NoError(t, err)
	put(t, folder, map[string]string{
		"prelude.cuh": string(prelude),
		"three.cuh":   "const int three = 3;\n",
		"one.cu":      "#include \"prelude.cuh\"\nKERNEL(32) one(int *y) { *y = 1; }\n",
		"two.cu":      "#include \"prelude.cuh\"\n#include \"three.cuh\"\nKERNEL(32) two(int *y) { *y = three; }\n",
	})
	var at errgroup.Group
	for range 3 { // at once, as the test binaries of several packages do
		at.Go(func() error { return build(sources(t), folder, libraries) })
	}
	require.NoError(t, at.Wait())
	times := func() (all []time.Time) {
		for _, name := range []string{"one.o", "two.o", driverName} {
			info, err := os.Stat(filepath.Join(libraries, name))
			require.NoError(t, err)
			all = append(all, info.ModTime())
		}
		return all
	}
	first := times()
	require.NoError(t, build(sources(t), folder, libraries))
	require.Equal(t, first, times())

	put(t, folder, map[string]string{"three.cuh": "const int three = 33;\n"})
	require.NoError(t, build(sources(t), folder, libraries))
	changed := times()
	assert.Equal(t, first[0], changed[0], "two.cu alone is compiled again")
	assert.NotEqual(t, first[1], changed[1])
	assert.NotEqual(t, first[2], changed[2])

	put(t, folder, map[string]string{"one.cu": "KERNEL(32) one(int *y) { *y = 1; }\n"})
	err = build(sources(t), folder, libraries)
	require.ErrorContains(t, err, "one.cu:1:")
}

func TestMissingCompiler(t *testing.T) {
	t.Setenv("CXX", "none")
	folder := t.TempDir()
	put(t, folder, map[string]string{"one.cu": ""})
	require.ErrorContains(t, build(sources(t), folder, t.TempDir()), "wants a C++ compiler")
}
