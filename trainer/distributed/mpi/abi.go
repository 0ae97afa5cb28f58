//go:build mpi && linux

package mpi

import (
	"path/filepath"
	"strings"

	"github.com/ebitengine/purego"
	"github.com/pkg/errors"
)

// abi holds the handles and constants of a binary interface, which differ between libraries.
type abi struct {
	name         string
	world        uintptr // MPI_COMM_WORLD
	bytes        uintptr // MPI_BYTE
	errorsReturn uintptr // MPI_ERRORS_RETURN
	funneled     int32   // MPI_THREAD_FUNNELED
}

// statusBytes is room for an MPI_Status of any library; the largest has 32 bytes.
const statusBytes = 64

// standardABI returns the interface of the MPI 5.0 standard, chapter 20.
func standardABI() abi {
	return abi{name: "standard ABI", world: 0x101, bytes: 0x247, errorsReturn: 0x143, funneled: 1024}
}

// mpichABI returns the interface that MPICH 3.1 to 4 and the libraries compatible with it share
// (libmpi.so.12): Intel MPI, MVAPICH, Cray MPI.
func mpichABI() abi {
	return abi{name: "MPICH's ABI", world: 0x44000000, bytes: 0x4c00010d, errorsReturn: 0x54000001, funneled: 1}
}

// openMPIABI returns the interface of Open MPI (libmpi.so.40), whose handles are addresses of the
// library's variables.
func openMPIABI(handle uintptr) (abi, error) {
	a := abi{name: "Open MPI's ABI", funneled: 1}
	return a, bind(handle, map[string]*uintptr{
		"ompi_mpi_comm_world": &a.world, "ompi_mpi_byte": &a.bytes, "ompi_mpi_errors_return": &a.errorsReturn,
	})
}

// abiOf decides which interface the library at a path has, by its symbols, name and version.
func abiOf(handle uintptr, path, version string) (abi, error) {
	if _, err := purego.Dlsym(handle, "ompi_mpi_comm_world"); err == nil {
		return openMPIABI(handle)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if strings.HasPrefix(filepath.Base(path), "libmpi_abi") {
		return standardABI(), nil
	}
	for _, compatible := range []string{"MPICH", "Intel(R) MPI", "MVAPICH"} {
		if strings.Contains(version, compatible) {
			return mpichABI(), nil
		}
	}
	return abi{}, errors.Errorf("%s: want a library of MPI 5's standard ABI (libmpi_abi.so), MPICH or Open MPI, got %q", path, version)
}
