//go:build cuda

package loss

import (
	"testing"

	"github.com/residua-go/residua/graph/cuda/emulator"
)

// TestMain runs the device tests on the emulator, or on a GPU if RESIDUA_GPU says so.
func TestMain(m *testing.M) { emulator.Main(m) }
