// Package standin makes a stand-in for the CUDA driver and cuBLAS, for tests of the binding on
// machines without a GPU. It is a single shared library, written in C, and needs a C compiler.
package standin

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/pkg/errors"
	"gorgonia.org/cu/internal/dynlib"
)

//go:embed source/standin.c
var source []byte

// Library is a loaded stand-in.
type Library struct {
	failNext, countHolds, failProduct, lastProduct dynlib.Func
}

// Build compiles a stand-in into the folder and returns its path. Definitions change its defaults:
// "VERSION=11080", "DEVICES=0", "MAJOR=7".
func Build(dir string, definitions ...string) (string, error) {
	c, library := filepath.Join(dir, "standin.c"), filepath.Join(dir, "standin.so")
	if err := os.WriteFile(c, source, 0o644); err != nil {
		return "", err
	}
	args := []string{"-shared", "-fPIC", "-O1", "-o", library, c}
	for _, d := range definitions {
		args = append(args, "-D"+d)
	}
	out, err := exec.Command("cc", args...).CombinedOutput()
	return library, errors.Wrapf(err, "compiling the stand-in: %s", out)
}

// Load loads a library that Build compiled, so that tests can control it.
func Load(path string) (*Library, error) {
	opened, err := dynlib.Open(path)
	if err != nil {
		return nil, err
	}
	l := &Library{}
	return l, opened.Bind([]dynlib.Symbol{
		{Func: &l.failNext, Name: "fail_next"}, {Func: &l.countHolds, Name: "count_holds"},
		{Func: &l.failProduct, Name: "fail_product"}, {Func: &l.lastProduct, Name: "last_product"},
	})
}
