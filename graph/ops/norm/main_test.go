//go:build cuda

package norm_test

import (
	"testing"

	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/graph/optest"
)

// TestMain runs the device tests on the emulator, or on a GPU if RESIDUA_GPU says so.
func TestMain(m *testing.M) { emulator.Main(m) }

// TestDevice compares every op on the device with the CPU.
func TestDevice(t *testing.T) { optest.RunOnDevice(t, cases()) }
