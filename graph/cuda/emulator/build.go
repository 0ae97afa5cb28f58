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

// build builds the libraries in folder, with the kernels that lie in the folder kernels, by
// the Makefile in the folder sources. One process builds at a time.
func build(sources, kernels, folder string) error {
	parts := filepath.Join(buildFolder(sources), "parts")
	for _, dir := range []string{parts, folder} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return errors.WithStack(err)
		}
	}
	arguments := []string{parts, "make", "-s", "-j" + strconv.Itoa(runtime.NumCPU()), "-C", sources}
	for variable, path := range map[string]string{"KERNELS": kernels, "BUILD": folder, "PARTS": parts} {
		short, err := relative(sources, path)
		if err != nil {
			return err
		}
		arguments = append(arguments, variable+"="+short)
	}
	out, err := exec.Command("flock", arguments...).CombinedOutput()
	const most = 4000
	return errors.Wrapf(err, "building the emulator for tests of the CUDA backend without a GPU, which wants a C++ compiler ($CXX) and make (Debian: apt "+
		"install g++ make), or RESIDUA_GPU=1 on a machine with a GPU: %s", out[:min(len(out), most)])
}

// relative returns a path relative to a folder. An absolute path could have spaces in the
// names of the outer folders, which make cannot handle.
func relative(folder, path string) (string, error) {
	var real [2]string
	for i, p := range []string{folder, path} {
		var err error
		if real[i], err = filepath.EvalSymlinks(p); err != nil {
			return "", errors.WithStack(err)
		}
	}
	short, err := filepath.Rel(real[0], real[1])
	return short, errors.WithStack(err)
}

// buildFolder returns the folder for the built libraries: build/emulator in the module.
func buildFolder(sources string) string {
	return filepath.Join(sources, "..", "..", "..", "..", "build", "emulator")
}
