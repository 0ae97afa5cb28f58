//go:build cuda

package moe

import (
	"testing"

	"github.com/residua-go/residua/graph/cuda/emulator"
)

// TestMain runs the device's tests on the emulator, or on a GPU where RESIDUA_GPU says so.
func TestMain(m *testing.M) { emulator.Main(m) }
