package cu

import (
	"fmt"
	"os"
	"testing"

	"gorgonia.org/cu/internal/standin"
)

// gpu is the stand-in that the package's tests run on.
var gpu *standin.Library

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cu")
	if err == nil {
		err = useStandin(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func useStandin(dir string) error {
	path, err := standin.Build(dir)
	if err != nil {
		return err
	}
	if gpu, err = standin.Load(path); err != nil {
		return err
	}
	return os.Setenv("RESIDUA_CUDA_DRIVER", path)
}
