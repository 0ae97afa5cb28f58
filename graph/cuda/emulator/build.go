//go:build cuda

package emulator

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/pkg/errors"
)

const (
	driverName = "libcuda.so.1"
	blasName   = "libcublas.so"
	ncclName   = "libnccl.so.2"
)

// build makes the libraries with the kernels of one folder in another, by the Makefile in the
// emulator's sources. One process builds at a time.
func build(sources, kernels, folder string) error {
	parts := filepath.Join(buildFolder(sources), "parts")
	for _, dir := range []string{parts, folder} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return errors.WithStack(err)
		}
	}
	out, err := exec.Command("flock", parts, "make", "-s", "-j"+strconv.Itoa(runtime.NumCPU()), "-C", sources,
		"KERNELS="+kernels, "BUILD="+folder, "PARTS="+parts).CombinedOutput()
	const most = 4000
	return errors.Wrapf(err, "building the emulator for tests of the CUDA backend without a GPU, which wants a C++ compiler ($CXX) and make (Debian: apt install g++ make), or RESIDUA_GPU=1 on a machine with a GPU: %s", out[:min(len(out), most)])
}

// buildFolder returns the folder of what is built: build/emulator in the module.
func buildFolder(sources string) string {
	return filepath.Join(sources, "..", "..", "..", "..", "build", "emulator")
}
