// Package toolkit finds programs of NVIDIA's CUDA toolkit. They do not need a GPU.
package toolkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/klauspost/compress/zstd"
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

// Assembler is the program ptxas.
type Assembler struct{ Path, Version string }

// FindAssembler finds ptxas, which the environment variable RESIDUA_PTXAS may name.
func FindAssembler() (a Assembler, err error) {
	if a.Path, err = Find("RESIDUA_PTXAS", "ptxas"); err == nil {
		a.Version, err = Version(a.Path)
	}
	return a, err
}

// Assemble assembles PTX for an architecture. It returns the code and what ptxas says of each
// kernel.
func (a Assembler) Assemble(ptx, architecture string) (code []byte, log string, err error) {
	folder, err := os.MkdirTemp("", "ptxas")
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	source, result := filepath.Join(folder, "kernels.ptx"), filepath.Join(folder, "kernels.cubin")
	if err := os.WriteFile(source, []byte(ptx), 0o644); err != nil {
		return nil, "", err
	}
	said, err := exec.Command(a.Path, "-arch="+architecture, "-o", result, source, "-v").CombinedOutput()
	if err != nil {
		return nil, "", errors.Wrapf(err, "ptxas: %s", said)
	}
	code, err = os.ReadFile(result)
	return code, string(said), err
}

// ReadPacked reads and decompresses a file of PTX or code.
func ReadPacked(file string) (string, error) {
	packed, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return "", err
	}
	defer d.Close()
	text, err := d.DecodeAll(packed, nil)
	return string(text), errors.Wrap(err, file)
}
