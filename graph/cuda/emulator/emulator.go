//go:build cuda

// Package emulator runs the CUDA backend without a GPU, for tests: it compiles the kernels with a C++ compiler, each CUDA
// thread a fiber, into a stand-in for the driver's libcuda.so.1, and a stand-in for cuBLAS in the same folder. What the kernels compute,
// what crosses the bus and what a kernel does wrong (a missing barrier, a write past its memory) show on any machine with g++.
//
// RESIDUA_GPU=1 leaves it out: tests then run on the real driver and GPU.
// RESIDUA_EMULATOR_ORDER=forward|backward|shuffle chooses the order in which a block's threads run; results must not depend on it.
// RESIDUA_EMULATOR_MEMORY is the device's memory in bytes (16 GiB), RESIDUA_EMULATOR_CAPABILITY its compute capability (8.6, with the
// least shared memory a block that kernels must do with),
// RESIDUA_EMULATOR_DEVICES the number of GPUs (1; 0: a driver and no GPU), of which CUDA_VISIBLE_DEVICES chooses. With
// RESIDUA_EMULATOR_FAULTS=later what a kernel does wrong fails the calls after its launch, as on a GPU, unless CUDA_LAUNCH_BLOCKING=1;
// RESIDUA_EMULATOR_FAULT=scale_f32 makes launches of that kernel do wrong.
package emulator

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Emulated says whether tests run on the emulator and not on a GPU.
func Emulated() bool { return os.Getenv("RESIDUA_GPU") != "1" }

// Use builds the stand-ins, if they aren't built yet, and makes the binding load them. It must come before anything else of the
// backend; on a real GPU it does nothing. A kernel file that does not compile is reported to the standard error and left out:
// whoever launches one of its kernels finds none of that name.
func Use() error {
	if !Emulated() {
		return nil
	}
	_, err := load()
	return err
}

// Main is the TestMain of a package whose tests need a device.
func Main(m *testing.M) {
	if err := Use(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// load builds and opens the stand-ins with the kernels of package cuda, once.
var load = sync.OnceValues(func() (*library, error) {
	folder, err := sourceFolder()
	if err != nil {
		return nil, err
	}
	return open(filepath.Join(folder, "native"), filepath.Dir(folder))
})

// open builds the stand-ins with the kernels of a folder and points the binding at them.
func open(emulator, kernels string) (*library, error) {
	b, err := newBuilder(emulator, kernels)
	if err != nil {
		return nil, err
	}
	folder, failures, err := b.build()
	if err != nil {
		return nil, err
	}
	for _, failure := range failures {
		fmt.Fprintln(os.Stderr, failure)
	}
	driver := filepath.Join(folder, driverName)
	if err := os.Setenv("RESIDUA_CUDA_DRIVER", driver); err != nil {
		return nil, err
	}
	if err := os.Setenv("RESIDUA_CUBLAS", filepath.Join(folder, blasName)); err != nil {
		return nil, err
	}
	return openLibrary(driver)
}
