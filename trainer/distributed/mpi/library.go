//go:build mpi && linux

package mpi

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/pkg/errors"
)

// libraryVariable names the library to load; then no other is looked for.
const libraryVariable = "RESIDUA_MPI"

// names are the libraries' file names, the preferred first.
var names = []string{"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so", "libmpi.so.12", "libmpich.so.12", "libmpi.so.40"}

// library is an MPI library that is loaded.
type library struct {
	handle  uintptr // of dlopen
	abi     abi
	version string // its first line

	initThread, finalize, abort, commDup, commSetErrhandler, commRank, commSize uintptr
	isend, irecv, test, getCount, errorString, getLibraryVersion                uintptr
}

func (l *library) symbols() map[string]*uintptr {
	return map[string]*uintptr{
		"MPI_Init_thread": &l.initThread, "MPI_Finalize": &l.finalize, "MPI_Abort": &l.abort, "MPI_Comm_dup": &l.commDup,
		"MPI_Comm_set_errhandler": &l.commSetErrhandler, "MPI_Comm_rank": &l.commRank, "MPI_Comm_size": &l.commSize,
		"MPI_Isend": &l.isend, "MPI_Irecv": &l.irecv, "MPI_Test": &l.test, "MPI_Get_count": &l.getCount,
		"MPI_Error_string": &l.errorString, "MPI_Get_library_version": &l.getLibraryVersion,
	}
}

// bind looks functions or variables up.
func bind(handle uintptr, symbols map[string]*uintptr) error {
	for name, to := range symbols {
		address, err := purego.Dlsym(handle, name)
		if err != nil {
			return errors.Errorf("no symbol %s", name)
		}
		*to = address
	}
	return nil
}

// load opens the library that libraryVariable names, or else the first that there is.
func load() (*library, error) {
	paths := []string{os.Getenv(libraryVariable)}
	if paths[0] == "" {
		paths = candidates()
	}
	var broken []string
	for _, path := range paths {
		handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			l, err := newLibrary(handle, path)
			return l, errors.Wrapf(err, "MPI library %s", path)
		}
		if _, missing := os.Stat(path); missing == nil || len(paths) == 1 {
			broken = append(broken, err.Error())
		}
	}
	return nil, errors.Errorf("no MPI library: want one of %s where the loader or the launcher has it (%s): install MPICH or Open MPI, start the program "+
		"by its mpiexec, or name the library in %s",
		strings.Join(paths, ", "), strings.Join(append(broken, "none else found"), "; "), libraryVariable)
}

// candidates lists where a library may be: in lib next to the launcher that has started this
// process, next to the mpiexec in PATH, and where the loader looks.
func candidates() []string {
	var launchers []string
	if parent, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(os.Getppid()), "exe")); err == nil {
		launchers = append(launchers, parent)
	}
	if path, err := exec.LookPath("mpiexec"); err == nil {
		launchers = append(launchers, path)
	}
	names := slices.Clone(names)
	if os.Getenv("OMPI_COMM_WORLD_SIZE") != "" { // Open MPI's launcher
		slices.Reverse(names)
	}
	var paths []string
	for _, launcher := range launchers {
		for _, name := range names {
			if path := filepath.Join(filepath.Dir(launcher), "..", "lib", name); exists(path) {
				paths = append(paths, path)
			}
		}
	}
	return append(paths, names...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// newLibrary binds a library that is open.
func newLibrary(handle uintptr, path string) (*library, error) {
	l := &library{handle: handle}
	if err := bind(handle, l.symbols()); err != nil {
		return nil, err
	}
	text, length := make([]byte, 8192), new(int32)
	if code := l.call(l.getLibraryVersion, uintptr(unsafe.Pointer(unsafe.SliceData(text))), uintptr(unsafe.Pointer(length))); code != 0 {
		return nil, errors.Errorf("MPI_Get_library_version: error %d", code)
	}
	version := strings.TrimRight(string(text[:*length]), "\x00\n ")
	var err error
	if l.abi, err = abiOf(handle, path, version); err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(version, "\n")
	l.version = strings.Join(strings.Fields(first), " ")
	return l, nil
}
