//go:build cuda

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda/emulator"
)

// use opens a Device, launches a kernel and a matrix product, and closes it.
func use(t *testing.T, p Precision) {
	d, err := Open(Options{Precision: p})
	require.NoError(t, err)
	x, err := d.Alloc(F32, 32)
	require.NoError(t, err)
	require.NoError(t, d.within(func() error {
		return d.Launch("fill_f32", Over(32, 32), x, Float(1), Long(32))
	}))
	require.NoError(t, d.within(func() error {
		return d.Gemm(Gemm{M: 4, N: 4, K: 4, Alpha: 1, A: x, LDA: 4, B: x, LDB: 4, C: x.Slice(16, 16), LDC: 4})
	}))
	d.Free(x)
	require.NoError(t, d.Close())
}

// TestDevicesShareTheGPU: a second Device makes no context, loads no module and opens no cuBLAS,
// whatever its precision, even after the first has been closed.
func TestDevicesShareTheGPU(t *testing.T) {
	use(t, PrecisionTF32)
	emulator.ResetCounters()
	use(t, PrecisionFP32)
	moved := emulator.Counters().Moved
	if emulator.Emulated() {
		require.EqualValues(t, 1, moved.Products)
	}
	require.Zero(t, moved.Contexts)
	require.Zero(t, moved.Modules)
	require.Zero(t, moved.Handles)
}

// TestAnotherGPUIsRefused checks the errors for a second GPU in a program, and for a GPU that does
// not exist.
func TestAnotherGPUIsRefused(t *testing.T) {
	use(t, PrecisionTF32)
	_, err := Open(Options{Ordinal: 1})
	require.EqualError(t, err, "device.index: this program computes on GPU 0 already, want the same, got 1: use one program for each GPU")
}
