//go:build cuda

package emulator

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/pkg/errors"
)

// sourceFolder finds this package's folder: where it was compiled, or in the module around the
// working directory, in which a test runs.
func sourceFolder() (string, error) {
	if _, file, _, ok := runtime.Caller(0); ok && isSource(filepath.Dir(file)) {
		return filepath.Dir(file), nil
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for folder := here; ; folder = filepath.Dir(folder) {
		if candidate := filepath.Join(folder, "graph", "cuda", "emulator"); isSource(candidate) {
			return candidate, nil
		}
		if folder == filepath.Dir(folder) {
			return "", errors.Errorf("the emulator's sources: want graph/cuda/emulator in a folder around %s, got none; run tests within the repository", here)
		}
	}
}

func isSource(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "native", "emulator.h"))
	return filepath.IsAbs(folder) && err == nil
}
