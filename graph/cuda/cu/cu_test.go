package cu

import (
	"math"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"
)

// use takes the stand-in's context and makes it current for the test.
func use(t testing.TB) CUContext {
	t.Helper()
	device, err := GetDevice(0)
	require.NoError(t, err)
	c, err := device.MakeContext(SchedAuto)
	require.NoError(t, err)
	require.NoError(t, c.Lock())
	t.Cleanup(func() {
		c.Unlock()
		require.NoError(t, c.Release())
	})
	return c
}

// kernel returns the stand-in's kernel.
func kernel(t testing.TB) Function {
	t.Helper()
	m, err := LoadData("store")
	require.NoError(t, err)
	f, err := m.Function("store")
	require.NoError(t, err)
	return f
}

func TestDevice(t *testing.T) {
	n, err := NumDevices()
	require.NoError(t, err)
	require.Equal(t, 1, n)
	d, err := GetDevice(0)
	require.NoError(t, err)
	name, err := d.Name()
	require.NoError(t, err)
	require.Equal(t, "Stand-in", name)
	size, err := d.TotalMem()
	require.NoError(t, err)
	require.EqualValues(t, 1<<30, size)
	values, err := d.Attributes(WarpSize, MaxGridDimX)
	require.NoError(t, err)
	require.Equal(t, []int{1010, 1005}, values)
	_, err = GetDevice(1)
	require.EqualError(t, err, "looking for GPU number 1: CUresult 101")
	require.Equal(t, "GPU(1) CPU no device", Device(1).String()+" "+CPU.String()+" "+BadDevice.String())
}

func TestContextIsCounted(t *testing.T) {
	before := gpu.Holds()
	first, err := Device(0).MakeContext(SchedAuto)
	require.NoError(t, err)
	second, err := Device(0).MakeContext(SchedAuto)
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Equal(t, before+2, gpu.Holds())
	require.NoError(t, first.Release())
	p, err := MemAlloc(16)
	require.NoError(t, err, "the second hold keeps the context")
	require.NoError(t, MemFree(p))
	require.NoError(t, second.Release())
	require.Equal(t, before, gpu.Holds())
}

func TestMakeContextReturnsOutOfMemoryBare(t *testing.T) {
	gpu.FailNext(int(OutOfMemory))
	_, err := Device(0).MakeContext(SchedAuto)
	require.True(t, err == OutOfMemory)
	require.EqualError(t, err, "CUDA_ERROR_OUT_OF_MEMORY")
}

// On a thread that never had a context, a goroutine uses the last one.
func TestColdCallsOnAnyThread(t *testing.T) {
	use(t)
	failure := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		d, _ := load()
		d.ctxSetCurrent.Call(0)
		p, err := MemAlloc(16)
		if err == nil {
			err = MemFree(p)
		}
		failure <- err
	}()
	require.NoError(t, <-failure)
}

func TestCopies(t *testing.T) {
	use(t)
	a, err := MemAlloc(16)
	require.NoError(t, err)
	require.Zero(t, a%256)
	b, err := MemAllocManaged(16, AttachGlobal)
	require.NoError(t, err)
	from, to := []uint32{1, 2, 3, 4}, make([]uint32, 4)
	require.NoError(t, MemcpyHtoDAsync(a, unsafe.Pointer(&from[0]), 16, NoStream))
	require.NoError(t, MemcpyDtoDAsync(b, a, 12, NoStream))
	require.NoError(t, MemsetD32Async(b, 7, 1, NoStream))
	require.NoError(t, MemsetD8Async(b+12, 0xff, 4, NoStream))
	require.NoError(t, MemcpyDtoHAsync(unsafe.Pointer(&to[0]), b, 16, NoStream))
	require.NoError(t, Synchronize())
	require.Equal(t, []uint32{7, 2, 3, 0xffffffff}, to)
	require.NoError(t, MemFree(a))
	require.NoError(t, MemFree(b))
	gpu.FailNext(700)
	require.EqualError(t, MemsetD8Async(a, 0, 3, NoStream), "setting 3 bytes on the GPU at "+a.String()+
		": CUDA_ERROR_ILLEGAL_ADDRESS (by a kernel launched before; CUDA_LAUNCH_BLOCKING=1 in the environment shows which)")
}

func TestOutOfMemorySaysHowMuchThereIs(t *testing.T) {
	use(t)
	_, err := MemAlloc(1 << 21)
	require.EqualError(t, err, "1048576 of the GPU's 1073741824 bytes are free: allocating 2097152 bytes on the GPU: CUDA_ERROR_OUT_OF_MEMORY")
	require.True(t, errors.Is(err, OutOfMemory))
}

func TestModuleErrors(t *testing.T) {
	use(t)
	_, err := LoadData("nonsense")
	require.EqualError(t, err, "loading a module of kernels: CUDA_ERROR_INVALID_PTX: ptxas: line 1: Parsing error")
	m, err := LoadData("store")
	require.NoError(t, err)
	_, err = m.Function("other")
	require.EqualError(t, err, "looking for kernel other: CUDA_ERROR_NOT_FOUND")
	require.True(t, errors.Is(err, NotFound))
	require.NoError(t, m.Unload())
}

func TestFunctionAttributes(t *testing.T) {
	use(t)
	f := kernel(t)
	require.NoError(t, f.SetMaxDynamicShared(98304))
	bytes, err := f.Attribute(FunctionMaxDynamicShared)
	require.NoError(t, err)
	require.Equal(t, 98304, bytes)
	registers, err := f.Attribute(FunctionRegisters)
	require.NoError(t, err)
	require.Equal(t, 104, registers)
}

func TestStreamsAndEvents(t *testing.T) {
	use(t)
	s, err := NewStream(StreamDefault)
	require.NoError(t, err)
	start, err := NewEvent()
	require.NoError(t, err)
	end, err := NewEvent()
	require.NoError(t, err)
	require.NoError(t, start.Record(s))
	require.NoError(t, end.Record(s))
	require.NoError(t, end.Synchronize())
	elapsed, err := Elapsed(start, end)
	require.NoError(t, err)
	require.Equal(t, 1500*time.Microsecond, elapsed)
	_, err = Elapsed(end, end)
	require.ErrorIs(t, err, InvalidValue)
	require.NoError(t, s.Synchronize())
	require.NoError(t, start.Destroy())
	require.NoError(t, end.Destroy())
	require.NoError(t, s.Destroy())
}

func TestGraphs(t *testing.T) {
	use(t)
	require.EqualError(t, NoStream.BeginCapture(), "beginning to record a stream: CUresult 900")
	s, err := NewStream(StreamNonBlocking)
	require.NoError(t, err)
	require.NoError(t, s.BeginCapture())
	g, err := s.EndCapture()
	require.NoError(t, err)
	e, err := g.Instantiate()
	require.NoError(t, err)
	require.NoError(t, g.Destroy())
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Launch(s) }))
	gpu.FailNext(700)
	require.ErrorContains(t, e.Launch(s), "launching a graph: CUDA_ERROR_ILLEGAL_ADDRESS")
	require.NoError(t, e.Launch(s))
	require.NoError(t, e.Destroy())
	gpu.FailNext(int(CaptureInvalidated))
	_, err = s.EndCapture()
	require.ErrorIs(t, err, CaptureInvalidated)
	require.EqualError(t, err, "recording a stream: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED")
	require.NoError(t, s.Destroy())
}

// arguments holds the arguments of the kernel store, for a launch to point to.
type arguments struct {
	to     DevicePtr
	a      int32
	b      float32
	c      int64
	d      float64
	params [5]unsafe.Pointer
}

func newArguments(to DevicePtr) *arguments {
	x := &arguments{to: to, a: -7, b: 1.5, c: -1 << 40, d: math.Pi}
	x.params = [5]unsafe.Pointer{unsafe.Pointer(&x.to), unsafe.Pointer(&x.a), unsafe.Pointer(&x.b), unsafe.Pointer(&x.c), unsafe.Pointer(&x.d)}
	return x
}

// seen returns what the kernel stored about its launch.
func seen(t *testing.T, p DevicePtr) (words [12]uint64) {
	t.Helper()
	require.NoError(t, MemcpyDtoHAsync(unsafe.Pointer(&words), p, 96, NoStream))
	return words
}

func wanted(stream uint64) [12]uint64 {
	a, c := int64(-7), int64(-1<<40)
	return [12]uint64{2, 3, 4, 32, 2, 1, 4096, stream, uint64(a), uint64(math.Float32bits(1.5)), uint64(c), math.Float64bits(math.Pi)}
}

func TestLaunchRaw(t *testing.T) {
	use(t)
	f := kernel(t)
	require.Equal(t, "store", f.Name())
	p, err := MemAlloc(96)
	require.NoError(t, err)
	s, err := NewStream(StreamNonBlocking)
	require.NoError(t, err)
	x := newArguments(p)
	require.NoError(t, LaunchRaw(f, Dim{2, 3, 4}, Dim{32, 2, 1}, 4096, s, &x.params[0]))
	require.Equal(t, wanted(1), seen(t, p))
	require.EqualError(t, LaunchRaw(f, Dim{2, 3, 4}, Dim{2048, 1, 1}, 0, s, &x.params[0]),
		"launching kernel store on 2x3x4 blocks of 2048x1x1 threads with 0 bytes of shared memory: CUDA_ERROR_INVALID_VALUE")
}

func TestLaunchAllocatesNothing(t *testing.T) {
	c := use(t)
	f := kernel(t)
	x := newArguments(0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_ = c.Lock()
		_ = LaunchRaw(f, Dim{1, 1, 1}, Dim{256, 1, 1}, 0, NoStream, &x.params[0])
		_ = MemsetD8Async(0, 0, 0, NoStream)
		c.Unlock()
	}))
}

func BenchmarkLaunchRaw(b *testing.B) {
	use(b)
	f := kernel(b)
	x := newArguments(0)
	b.ReportAllocs()
	for b.Loop() {
		_ = LaunchRaw(f, Dim{1, 1, 1}, Dim{256, 1, 1}, 0, NoStream, &x.params[0])
	}
}

func BenchmarkLock(b *testing.B) {
	c := use(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = c.Lock()
		c.Unlock()
	}
}
