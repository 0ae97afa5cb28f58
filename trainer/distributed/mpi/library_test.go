//go:build mpi && linux

package mpi

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that is no MPI library, or that does not exist, is an error that says so.
func TestWrongLibrary(t *testing.T) {
	for path, want := range map[string]string{
		"/no/such/libmpi.so": "no MPI library: want one of /no/such/libmpi.so where the loader or the launcher has it",
		"libc.so.6":          "MPI library libc.so.6: no symbol MPI_",
	} {
		t.Setenv(libraryVariable, path)
		_, err := Open()
		require.ErrorContains(t, err, want)
	}
}

// The launcher that has started a process is in the folder bin next to its libraries in lib.
func TestCandidates(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"/bin", "/lib"} {
		require.NoError(t, os.Mkdir(dir+folder, 0o755))
	}
	require.NoError(t, os.WriteFile(dir+"/bin/mpiexec", nil, 0o755))
	for _, name := range []string{"/lib/libmpi.so.12", "/lib/libmpi_abi.so.1"} {
		require.NoError(t, os.WriteFile(dir+name, nil, 0o644))
	}
	t.Setenv("PATH", dir+"/bin")
	t.Setenv("OMPI_COMM_WORLD_SIZE", "")
	require.Equal(t, append([]string{dir + "/lib/libmpi_abi.so.1", dir + "/lib/libmpi.so.12"}, names...), candidates())
	t.Setenv("OMPI_COMM_WORLD_SIZE", "2")
	require.Equal(t, []string{dir + "/lib/libmpi.so.12", dir + "/lib/libmpi_abi.so.1", "libmpi.so.40"}, candidates()[:3])
}
