//go:build cuda

package emulator

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"
)

// failing launches a kernel that makes a mistake and returns the emulator's message.
func failing(d *device, name string, g grid, args ...any) string {
	require.Error(d, d.launch(name, g, args...))
	require.Error(d, cu.Synchronize(), "an error stays until the device is given up")
	Restore()
	return Failure()
}

// A missing barrier is found: the kernel's results differ between the orders of threads, and from
// those with the barrier.
func TestMissingBarrier(t *testing.T) {
	x := make([]int32, 256)
	for i := range x {
		x[i] = int32(i)
	}
	results := map[string][]int32{}
	orders(t, func(d *device) {
		g := line(1, 256)
		g.shared = 4 * 256
		y := alloc[int32](d, 256)
		require.NoError(d, d.launch("probe_reverse", g, y, upload(d, x)))
		right := download[int32](d, y, 256)
		require.NoError(d, d.launch("probe_reverse_unsynchronised", g, y, upload(d, x)))
		wrong := download[int32](d, y, 256)
		require.NotEqual(d, right, wrong)
		results[d.Name()] = wrong
	})
	require.Len(t, results, 3)
	require.NotEqual(t, results["TestMissingBarrier/forward"], results["TestMissingBarrier/backward"])
	require.NotEqual(t, results["TestMissingBarrier/forward"], results["TestMissingBarrier/shuffle"])
}

// Checks a barrier that is missing between a read and the next write.
func TestMissingSecondBarrier(t *testing.T) {
	x, want := make([]int32, 256), make([]int32, 256)
	for i := range x {
		x[i], want[i] = int32(i), int32((i+2)%256)
	}
	wrong := 0
	orders(t, func(d *device) {
		y := alloc[int32](d, 256)
		require.NoError(d, d.launch("probe_rotate_twice", line(1, 256), y, upload(d, x)))
		if !equal(want, download[int32](d, y, 256)) {
			wrong++
		}
	})
	require.Positive(t, wrong)
}

func equal(a, b []int32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestDivergence(t *testing.T) {
	for kernel, message := range map[string]string{
		"probe_divergent_exit":  "divergent barrier",
		"probe_divergent_sites": "divergent barrier",
		"probe_divergent_warp":  "divergent warp 0: lanes fffffff7 wait in a shuffle for lanes 00000008",
	} {
		t.Run(kernel, func(t *testing.T) {
			orders(t, func(d *device) {
				y := alloc[float32](d, 256)
				threads := 256
				if kernel == "probe_divergent_warp" {
					threads = 32
				}
				said := failing(d, kernel, line(2, threads), y)
				require.Contains(d, said, "kernel "+kernel+", block (")
				require.Contains(d, said, message)
				// The next launch is not affected.
				require.NoError(d, d.launch("probe_barriers", line(1, 256), y, int32(3)))
			})
		})
	}
}

func TestMatrixInstructionNeedsAWholeWarp(t *testing.T) {
	d := newDevice(t)
	y := alloc[float32](d, 256)
	require.Contains(t, failing(d, "probe_mma_bf16", line(1, 31), y, y, y), "mma_bf16 needs a whole warp")
}

func TestCanaries(t *testing.T) {
	for name, beyond := range map[string]int32{"next": 0, "further": 60, "before": -1001} {
		t.Run(name, func(t *testing.T) {
			d := newDevice(t)
			const n = 1000
			y := alloc[float32](d, n)
			said := failing(d, "probe_overrun", line(4, 256), y, int32(n), beyond)
			require.Contains(t, said, "probe_overrun: byte")
			require.Contains(t, said, "of an allocation of 4000 bytes")
		})
	}
}

func TestSharedOverrun(t *testing.T) {
	d := newDevice(t)
	y := alloc[float32](d, 256)
	g := line(1, 256)
	g.shared = 1024
	require.Contains(t, failing(d, "probe_shared_overrun", g, y, int32(256)), "wrote byte 1024 of 1024 bytes of dynamic shared memory")
	require.Contains(t, failing(d, "probe_static_overrun", line(1, 32), y, int32(64)), "an index outside of its array")
}

func TestFaults(t *testing.T) {
	d := newDevice(t)
	y := alloc[float32](d, 64)
	require.Contains(t, failing(d, "probe_store", line(1, 32), cu.DevicePtr(0)), "thread (0, 0, 0): illegal address")
	require.Contains(t, failing(d, "probe_descend", line(1, 32), y, int32(100)), "more stack than a thread has")
	require.Contains(t, failing(d, "probe_copy_f32", line(1, 1), y+4, y), "misaligned access")
	var host [64]float32
	require.Contains(t, failing(d, "probe_store", line(1, 32), hostPointer(&host[0])), "is not in the device's memory")
	require.NoError(t, d.launch("probe_store", line(1, 32), y))
	// A fault in Go code is still handled by Go.
	require.Panics(t, func() {
		var p *int
		*p = 1
	})
}

func TestFreedMemoryFaults(t *testing.T) {
	d := newDevice(t)
	p, err := cu.MemAlloc(1 << 20)
	require.NoError(t, err)
	require.NoError(t, cu.MemFree(p))
	require.Error(t, cu.MemFree(p))
	require.Contains(t, failing(d, "probe_store", line(1, 32), p), "is not in the device's memory")
}

func TestLaunchLimits(t *testing.T) {
	d := newDevice(t)
	y := alloc[float32](d, 64)
	require.ErrorContains(t, d.launch("probe_store", line(1, 64), y), "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES")
	require.ErrorContains(t, d.launch("probe_barriers", line(1, 1025), y, int32(1)), "CUDA_ERROR_INVALID_VALUE")
	require.ErrorContains(t, d.launch("probe_barriers", line(0, 32), y, int32(1)), "CUDA_ERROR_INVALID_VALUE")
	f, err := d.module.Function("probe_reverse")
	require.NoError(t, err)
	require.Error(t, f.SetMaxDynamicShared(228<<10))
	_, err = d.module.Function("probe_of_no_name")
	require.ErrorContains(t, err, "CUDA_ERROR_NOT_FOUND")
	require.NoError(t, d.launch("probe_store", line(1, 32), y), "none of these errors stays")
}
