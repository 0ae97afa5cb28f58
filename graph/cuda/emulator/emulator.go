//go:build cuda

package emulator

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/residua-go/residua/internal/longtest"
)

// Emulated tells whether tests run on the emulator instead of a GPU.
func Emulated() bool { return os.Getenv("RESIDUA_GPU") != "1" }

// Use builds the stand-ins, unless they are built already, and makes the binding load them. Call it
// before using anything else of the backend; on a real GPU it does nothing.
func Use() error {
	if !Emulated() {
		return nil
	}
	_, err := load()
	return err
}

// Main is the TestMain of packages whose tests need a device.
func Main(m *testing.M) {
	if err := Use(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	longtest.Main(m)
}

// load builds and opens the stand-ins with the kernels of package cuda, once.
var load = sync.OnceValues(func() (*library, error) {
	folder, err := sourceFolder()
	if err != nil {
		return nil, err
	}
	sources := filepath.Join(folder, "native")
	return open(sources, filepath.Dir(folder), filepath.Join(buildFolder(sources), "cuda"))
})

// open builds the stand-ins in folder, with the kernels that lie in the folder kernels, and
// makes the binding load them.
func open(sources, kernels, folder string) (*library, error) {
	if err := build(sources, kernels, folder); err != nil {
		return nil, err
	}
	for variable, name := range map[string]string{"RESIDUA_CUDA_DRIVER": driverName, "RESIDUA_CUBLAS": blasName, "RESIDUA_NCCL": ncclName} {
		if err := os.Setenv(variable, filepath.Join(folder, name)); err != nil {
			return nil, err
		}
	}
	return openLibrary(filepath.Join(folder, driverName))
}
