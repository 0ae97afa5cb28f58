//go:build cuda

package ops_test

import (
	"testing"

	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/graph/optest"
)

// TestMain runs the device tests on the emulator, or on a GPU if RESIDUA_GPU says so.
func TestMain(m *testing.M) { emulator.Main(m) }

// TestDevice compares every op on the device with the CPU. It stops where the GPU can no longer be
// used: what follows could only fail.
func TestDevice(t *testing.T) {
	usable := true
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) { usable = optest.RunOnDevice(t, f.cases) })
		if !usable {
			return
		}
	}
}
