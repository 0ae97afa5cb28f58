// Package toolkit finds programs of NVIDIA's CUDA toolkit. They do not need a GPU.
package toolkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/pkg/errors"
)

// Find returns the path of a program: the one that the environment variable names, or the one in
// the shell's path or /usr/local/cuda/bin.
func Find(variable, name string) (string, error) {
	if path := os.Getenv(variable); path != "" {
		return path, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	path := filepath.Join("/usr/local/cuda/bin", name)
	_, err := os.Stat(path)
	return path, errors.Wrapf(err, "%s: want it in the shell's path or named by %s (pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm)", name, variable)
}

var versionPattern = regexp.MustCompile(`release \S+ V(\S+)`)

// Version returns a program's version.
func Version(path string) (string, error) {
	text, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", errors.Wrap(err, path)
	}
	match := versionPattern.FindSubmatch(text)
	if match == nil {
		return "", errors.Errorf("%s: want a version, got %q", path, text)
	}
	return string(match[1]), nil
}
