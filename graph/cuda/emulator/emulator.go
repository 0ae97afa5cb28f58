//go:build cuda

// Package emulator runs the CUDA backend without a GPU, for tests. With a C++ compiler it compiles
// the kernels, whose CUDA threads become fibers, into a stand-in for the driver's libcuda.so.1, and
// makes a stand-in for cuBLAS in the same folder. On any machine with g++, tests can check what the
// kernels compute, what is copied between host and device, and whether a kernel makes a mistake,
// such as a missing barrier or a write outside its memory.
//
// With RESIDUA_GPU=1 tests run on the real driver and GPU instead.
// RESIDUA_EMULATOR_ORDER=forward|backward|shuffle chooses the order in which a block's threads run;
// results must not depend on it. RESIDUA_EMULATOR_MEMORY is the device's memory in bytes (default
// 16 GiB); RESIDUA_EMULATOR_CAPABILITY is its compute capability (default 8.6, which has the least
// shared memory a block among supported GPUs); RESIDUA_EMULATOR_DEVICES is the number of GPUs
// (default 1; 0: a driver without a GPU), among which CUDA_VISIBLE_DEVICES chooses. With
// RESIDUA_EMULATOR_FAULTS=later, a kernel's fault fails the calls after its launch, as on a GPU,
// unless CUDA_LAUNCH_BLOCKING=1. RESIDUA_EMULATOR_FAULT=scale_f32 makes launches of that kernel
// fail.
package emulator

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Emulated tells whether tests run on the emulator instead of a GPU.
func Emulated() bool { return os.Getenv("RESIDUA_GPU") != "1" }

// Use builds the stand-ins, unless they are built already, and makes the binding load them. Call it
// before using anything else of the backend; on a real GPU it does nothing. A kernel file that does
// not compile is reported to the standard error and left out, so that launching one of its kernels
// is an error.
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

// open builds the stand-ins with the kernels of a folder and makes the binding load them.
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
