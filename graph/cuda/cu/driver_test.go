package cu

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu/internal/dynlib"
	"gorgonia.org/cu/internal/standin"
)

// openStandin opens a separate stand-in, apart from the one that the package has loaded.
func openStandin(t *testing.T, definitions ...string) (*driver, error) {
	t.Helper()
	path, err := standin.Build(t.TempDir(), definitions...)
	require.NoError(t, err)
	t.Setenv("RESIDUA_CUDA_DRIVER", path)
	return openDriver()
}

func TestOpenWithoutDriver(t *testing.T) {
	t.Setenv("RESIDUA_CUDA_DRIVER", "/nowhere/libcuda.so.1")
	_, err := openDriver()
	require.ErrorContains(t, err, "no CUDA driver: RESIDUA_CUDA_DRIVER names /nowhere/libcuda.so.1")
}

func TestSearchNamesWhereItLooked(t *testing.T) {
	dir := t.TempDir()
	s := dynlib.Search{What: "CUDA driver", Env: "RESIDUA_CUDA_TEST", Names: []string{"libnone.so.2", "libnone.so.1"},
		Dirs: []string{dir}, Fix: "install it"}
	_, err := s.Open()
	require.EqualError(t, err, "no CUDA driver: looked for libnone.so.2, libnone.so.1 in the loader's path, "+dir+
		"; install it, or name the library in RESIDUA_CUDA_TEST")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "libnone.so.1"), []byte("no library"), 0o644))
	_, err = s.Open()
	require.ErrorContains(t, err, "(could not be opened: "+filepath.Join(dir, "libnone.so.1"))
}

func TestSearchTakesTheFirstName(t *testing.T) {
	dir := t.TempDir()
	path, err := standin.Build(dir)
	require.NoError(t, err)
	one, two := filepath.Join(dir, "libfound.so.1"), filepath.Join(dir, "libfound.so.2")
	require.NoError(t, os.Rename(path, one))
	require.NoError(t, os.Symlink(one, two))
	library, err := dynlib.Search{Env: "RESIDUA_CUDA_TEST", Names: []string{"libfound.so.2", "libfound.so.1"}, Dirs: []string{filepath.Dir(dir) + "/*"}}.Open()
	require.NoError(t, err)
	require.Equal(t, two, library.Path)
}

func TestOpenLibraryThatIsNoDriver(t *testing.T) {
	t.Setenv("RESIDUA_CUDA_DRIVER", "libm.so.6")
	_, err := openDriver()
	require.EqualError(t, err, "not a CUDA driver of CUDA 12.1 or newer: libm.so.6 has no function cuInit")
}

func TestOpenOldDriver(t *testing.T) {
	_, err := openStandin(t, "VERSION=11080")
	require.ErrorContains(t, err, "is too old: it offers CUDA 11.8, wanted 12.1 or newer")
}

func TestOpenWithoutGPU(t *testing.T) {
	_, err := openStandin(t, "DEVICES=0")
	require.ErrorContains(t, err, "no CUDA GPU: the driver ")
}

func TestOldGPU(t *testing.T) {
	old, err := openStandin(t, "MAJOR=7")
	require.NoError(t, err)
	before := load
	load = func() (*driver, error) { return old, nil }
	defer func() { load = before }()
	_, err = GetDevice(0)
	require.EqualError(t, err, "GPU(0), Stand-in, is too old: its compute capability is 7.6, wanted 8.0 or newer (an A100, an RTX 30 or later)")
}

func TestDriverVersion(t *testing.T) {
	major, minor, err := DriverVersion()
	require.NoError(t, err)
	require.Equal(t, [2]int{12, 4}, [2]int{major, minor})
}
