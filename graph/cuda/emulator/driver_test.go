//go:build cuda

package emulator

import (
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"
)

func hostPointer(p *float32) cu.DevicePtr { return cu.DevicePtr(uintptr(unsafe.Pointer(p))) }

func TestCounters(t *testing.T) {
	d := newDevice(t)
	ResetCounters()
	before := Counters()
	require.Zero(t, before.Up)
	x := upload(d, make([]float32, 100))
	y := alloc[float32](d, 1000)
	require.NoError(t, cu.MemcpyDtoDAsync(y, x, 400, cu.NoStream))
	require.NoError(t, cu.MemsetD32Async(y, 7, 25, cu.NoStream))
	require.NoError(t, d.launch("probe_store", line(1, 32), y))
	require.NoError(t, d.launch("probe_store", line(1, 32), x))
	require.NoError(t, d.launch("probe_barriers", line(1, 32), y, int32(1)))
	download[float32](d, y, 10)
	extra, err := cu.MemAlloc(1 << 20)
	require.NoError(t, err)
	require.NoError(t, cu.MemFree(extra))
	require.Equal(t, Totals{
		Moved: Moved{
			Up: 400, Down: 40, Copied: 400, Filled: 100, Uploads: 1, Downloads: 1, Allocations: 3, Frees: 1, KernelLaunches: 3,
			Synchronisations: 1, InUse: before.InUse + 4400, Peak: before.InUse + 4400 + 1<<20,
		},
		Launches: map[string]uint64{"probe_store": 2, "probe_barriers": 1},
	}, Counters())
}

func TestNewMemoryIsNaN(t *testing.T) {
	d := newDevice(t)
	for _, v := range download[float32](d, alloc[float32](d, 100), 100) {
		require.True(t, math.IsNaN(float64(v)))
	}
}

// The data of an asynchronous copy arrives when somebody waits for it, and is what was there when
// the copy was started.
func TestDownloadsArriveWhenWaitedFor(t *testing.T) {
	d := newDevice(t)
	p := upload(d, []int32{1, 2})
	host := []int32{-1, -1}
	require.NoError(t, cu.MemcpyDtoHAsync(unsafe.Pointer(&host[0]), p, 8, cu.NoStream))
	require.NoError(t, cu.MemsetD8Async(p, 0, 8, cu.NoStream))
	require.Equal(t, []int32{-1, -1}, host)
	require.NoError(t, cu.Synchronize())
	require.Equal(t, []int32{1, 2}, host)
}

func TestOutOfMemory(t *testing.T) {
	newDevice(t)
	inUse := Counters().InUse
	t.Setenv("RESIDUA_EMULATOR_MEMORY", "1000000")
	_, err := cu.MemAlloc(1000001)
	require.ErrorIs(t, errors.Cause(err), cu.OutOfMemory)
	p, err := cu.MemAlloc(900000 - int64(inUse))
	require.NoError(t, err)
	_, err = cu.MemAlloc(200000)
	require.ErrorIs(t, errors.Cause(err), cu.OutOfMemory)
	require.NoError(t, cu.MemFree(p))
	require.NoError(t, cu.Synchronize(), "no error stays")
}

func TestCopiesAreChecked(t *testing.T) {
	d := newDevice(t)
	p := alloc[float32](d, 100)
	var host [101]float32
	require.Error(t, cu.MemcpyHtoDAsync(p, unsafe.Pointer(&host), 404, cu.NoStream))
	require.Error(t, cu.MemcpyDtoHAsync(unsafe.Pointer(&host), p+4, 400, cu.NoStream))
	require.Error(t, cu.MemcpyDtoDAsync(p, hostPointer(&host[0]), 400, cu.NoStream))
	require.Error(t, cu.MemsetD8Async(p, 0, 401, cu.NoStream))
}

func TestLostDevice(t *testing.T) {
	d := newDevice(t)
	y := alloc[float32](d, 32)
	LoseDevice()
	_, err := cu.MemAlloc(8)
	require.ErrorContains(t, err, "CUDA_ERROR_LAUNCH_FAILED")
	require.Error(t, cu.Synchronize())
	Restore()
	require.NoError(t, d.launch("probe_store", line(1, 32), y))
}

// A launch on a thread without a context is an error, as on a real device.
func TestLaunchWithoutContext(t *testing.T) {
	d := newDevice(t)
	f, err := d.module.Function("probe_barriers")
	require.NoError(t, err)
	gpu, err := cu.GetDevice(0)
	require.NoError(t, err)
	context, err := gpu.MakeContext(cu.SchedAuto)
	require.NoError(t, err)
	require.NoError(t, cu.SetCurrentContext(cu.CUContext{}))
	one := cu.Dim{X: 1, Y: 1, Z: 1}
	err = cu.LaunchRaw(f, one, one, 0, cu.NoStream, nil)
	require.NoError(t, cu.SetCurrentContext(context))
	require.ErrorContains(t, err, "CUDA_ERROR_INVALID_CONTEXT")
	require.NoError(t, context.Release())
}

// TestBarriersAreFast bounds the time of a barrier of 256 threads, generously for busy machines.
func TestBarriersAreFast(t *testing.T) {
	if testing.Short() {
		t.Skip("a measurement")
	}
	d := newDevice(t)
	y := alloc[int32](d, 1)
	const rounds = 2000
	best := time.Hour
	for range 5 {
		start := time.Now()
		require.NoError(t, d.launch("probe_barriers", line(1, 256), y, int32(rounds)))
		best = min(best, time.Since(start))
	}
	t.Logf("%v a barrier", best/rounds)
	require.Less(t, best/rounds, 50*time.Microsecond)
}

// Checks the machine that the environment variables describe.
func TestEnvironment(t *testing.T) {
	newDevice(t)
	gpu, err := cu.GetDevice(0)
	require.NoError(t, err)
	major, minor, err := gpu.ComputeCapability()
	require.NoError(t, err)
	require.Equal(t, [2]int{8, 6}, [2]int{major, minor})
	t.Setenv("RESIDUA_EMULATOR_CAPABILITY", "9.0")
	major, minor, err = gpu.ComputeCapability()
	require.NoError(t, err)
	require.Equal(t, [2]int{9, 0}, [2]int{major, minor})
	t.Setenv("RESIDUA_EMULATOR_MEMORY", "123456")
	bytes, err := gpu.TotalMem()
	require.NoError(t, err)
	require.EqualValues(t, 123456, bytes)
	t.Setenv("RESIDUA_EMULATOR_DEVICES", "0")
	_, err = cu.NumDevices()
	require.ErrorContains(t, err, "no CUDA GPU")
}

func TestEvents(t *testing.T) {
	newDevice(t)
	start, err := cu.NewEvent()
	require.NoError(t, err)
	end, err := cu.NewEvent()
	require.NoError(t, err)
	require.NoError(t, start.Record(cu.NoStream))
	time.Sleep(2 * time.Millisecond)
	require.NoError(t, end.Record(cu.NoStream))
	took, err := cu.Elapsed(start, end)
	require.NoError(t, err)
	require.GreaterOrEqual(t, took, 2*time.Millisecond)
	require.NoError(t, start.Destroy())
	require.NoError(t, end.Destroy())
	require.Error(t, end.Record(cu.NoStream))
}

// TestMemoryBesidesAllocations: allocations reduce the free memory by whole blocks, and the context
// and cuBLAS also take memory.
func TestMemoryBesidesAllocations(t *testing.T) {
	newDevice(t)
	before, total, err := cu.MemInfo()
	require.NoError(t, err)
	require.LessOrEqual(t, before, total-total/64, "the context's")
	p, err := cu.MemAlloc(3 << 20)
	require.NoError(t, err)
	after, _, err := cu.MemInfo()
	require.NoError(t, err)
	require.EqualValues(t, 4<<20, before-after)
	newHandle(t)
	with, _, err := cu.MemInfo()
	require.NoError(t, err)
	require.Equal(t, total/512, after-with, "cuBLAS's")
	require.NoError(t, cu.MemFree(p))
}

// TestDevices: a program sees the devices that CUDA_VISIBLE_DEVICES lists, in its order, and a
// kernel sees only the memory of its own device.
func TestDevices(t *testing.T) {
	d := newDevice(t)
	x := alloc[float32](d, 32)
	t.Setenv("RESIDUA_EMULATOR_DEVICES", "3")
	t.Setenv("CUDA_VISIBLE_DEVICES", "2,0,7,1")
	n, err := cu.NumDevices()
	require.NoError(t, err)
	require.Equal(t, 2, n)
	for i, want := range []string{"Emulated GPU 2", "Emulated GPU"} {
		gpu, err := cu.GetDevice(i)
		require.NoError(t, err)
		name, err := gpu.Name()
		require.NoError(t, err)
		require.Equal(t, want, name)
	}
	_, err = cu.GetDevice(2)
	require.ErrorContains(t, err, "CUDA_ERROR_INVALID_DEVICE")
	first, err := cu.GetDevice(1)
	require.NoError(t, err)
	other, err := cu.GetDevice(0)
	require.NoError(t, err)
	context, err := other.MakeContext(cu.SchedAuto)
	require.NoError(t, err)
	require.Contains(t, failing(d, "probe_store", line(1, 32), x), "is not in the device's memory")
	require.NoError(t, context.Release())
	back, err := first.MakeContext(cu.SchedAuto)
	require.NoError(t, err)
	require.NoError(t, d.launch("probe_store", line(1, 32), x))
	require.NoError(t, back.Release())
}

// TestLaterFaults: a kernel's error is reported after its launch, unless launches wait.
func TestLaterFaults(t *testing.T) {
	d := newDevice(t)
	t.Setenv("RESIDUA_EMULATOR_FAULTS", "later")
	require.NoError(t, d.launch("probe_store", line(1, 32), cu.DevicePtr(0)))
	require.ErrorContains(t, cu.Synchronize(), "CUDA_ERROR_ILLEGAL_ADDRESS")
	Restore()
	t.Setenv("CUDA_LAUNCH_BLOCKING", "1")
	require.ErrorContains(t, d.launch("probe_store", line(1, 32), cu.DevicePtr(0)), "CUDA_ERROR_ILLEGAL_ADDRESS")
	Restore()
}
