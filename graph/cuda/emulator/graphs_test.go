//go:build cuda

package emulator

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"
	cublas "gorgonia.org/cu/blas"
)

// newStream returns a stream that is destroyed when the test ends.
func newStream(d *device, flags cu.StreamFlags) cu.Stream {
	s, err := cu.NewStream(flags)
	require.NoError(d, err)
	d.Cleanup(func() {
		_, _ = s.EndCapture() // of a test that failed
		require.NoError(d, s.Destroy())
	})
	return s
}

// recorded returns what f puts into a stream, ready to be launched.
func recorded(d *device, s cu.Stream, f func()) cu.GraphExec {
	require.NoError(d, s.BeginCapture())
	f()
	g, err := s.EndCapture()
	require.NoError(d, err)
	e, err := g.Instantiate()
	require.NoError(d, err)
	require.NoError(d, g.Destroy())
	d.Cleanup(func() { require.NoError(d, e.Destroy()) })
	return e
}

// TestGraph: a capture runs nothing, and each launch of its graph runs all of it in order, with the
// arguments that there were at the capture.
func TestGraph(t *testing.T) {
	d := newDevice(t)
	s := newStream(d, cu.StreamNonBlocking)
	x, y, z := upload(d, []int32{1, 2, 3, 4}), upload(d, make([]int32, 4)), upload(d, make([]int32, 4))
	counts, total, top := upload(d, make([]int32, 8)), upload(d, make([]uint32, 1)), upload(d, make([]int32, 1))
	ResetCounters()
	e := recorded(d, s, func() {
		g := line(1, 4)
		g.shared = 16
		require.NoError(t, d.launchOn(s, "probe_reverse", g, y, x))
		require.NoError(t, cu.MemcpyDtoDAsync(z+4, y, 12, s))
		require.NoError(t, cu.MemsetD8Async(z, 7, 1, s))
		require.NoError(t, cu.MemsetD32Async(z+12, 5, 1, s))
		require.NoError(t, d.launchOn(s, "probe_atomics", line(1, 4), counts, total, top, z, int32(4)))
		p, err := cu.MemAlloc(8)
		require.NoError(t, err)
		require.NoError(t, cu.MemFree(p))
		require.Equal(t, make([]int32, 4), download[int32](d, z, 4))
		require.Zero(t, Counters().KernelLaunches)
	})
	require.NoError(t, e.Launch(s))
	require.NoError(t, s.Synchronize())
	require.Equal(t, []int32{7, 4, 3, 5}, download[int32](d, z, 4))
	require.NoError(t, cu.MemcpyHtoDAsync(x, unsafe.Pointer(&[]int32{1, 2, 6, 0}[0]), 16, s))
	require.NoError(t, e.Launch(cu.NoStream), "in another stream")
	require.Equal(t, []int32{7, 0, 6, 5}, download[int32](d, z, 4))
	require.Equal(t, []int32{1, 0, 0, 1, 1, 2, 1, 2}, download[int32](d, counts, 8))
	require.Equal(t, []uint32{19 + 18}, download[uint32](d, total, 1))
	c := Counters()
	require.Equal(t, map[string]uint64{"probe_reverse": 2, "probe_atomics": 2}, c.Launches)
	require.Equal(t, [4]uint64{2, 4, 24, 10}, [4]uint64{c.Graphs, c.KernelLaunches, c.Copied, c.Filled})
}

// TestGraphOfEveryParameter: values of all types are copied.
func TestGraphOfEveryParameter(t *testing.T) {
	d := newDevice(t)
	s := newStream(d, cu.StreamDefault)
	y := alloc[float64](d, 4)
	e := recorded(d, s, func() {
		require.NoError(t, d.launchOn(s, "probe_parameters", line(1, 4), y, int32(-5), int64(1)<<40, float32(0.5), 0.25, uint32(3)))
	})
	require.NoError(t, e.Launch(s))
	first := float64(1<<40) - 5 + 0.75 + 3
	require.Equal(t, []float64{first, first + 1, first + 2, first + 3}, download[float64](d, y, 4))
}

// TestGraphOfProducts: products go to the handle's stream, those of cuBLASLt too, with the factors
// of the capture.
func TestGraphOfProducts(t *testing.T) {
	d, h := newDevice(t), newHandle(t)
	s := newStream(d, cu.StreamNonBlocking)
	workspace := alloc[byte](d, 1<<20)
	a, b := upload(d, []float32{1, 2, 3, 4}), upload(d, []float32{1, 0, 0, 1})
	c, sum := alloc[float32](d, 4), upload(d, make([]float32, 4))
	m, err := h.PlanMatmul(cublas.MatmulShape{M: 2, N: 2, K: 2, Type: cublas.R32F, LDA: 2, LDB: 2, DType: cublas.R32F, LDD: 2,
		Adds: true, Epilogue: cublas.NoEpilogue, Compute: cublas.Compute32F}, 1)
	require.NoError(t, err)
	defer m.Close()
	require.NoError(t, h.SetStream(s))
	require.NoError(t, h.SetWorkspace(workspace, 1<<20))
	ResetCounters()
	e := recorded(d, s, func() {
		g := square(2, a, b, c)
		g.Alpha = 2
		require.NoError(t, h.GemmEx(&g))
		require.NoError(t, m.Run(3, uintptr(c), uintptr(b), 1, uintptr(sum), uintptr(sum), 0, uintptr(workspace)))
		require.Zero(t, Counters().Products)
	})
	require.NoError(t, h.SetStream(cu.NoStream))
	other := square(2, a, b, alloc[float32](d, 4))
	other.Alpha = 100
	require.NoError(t, h.GemmEx(&other))
	require.NoError(t, m.Run(100, uintptr(a), uintptr(b), 0, uintptr(c), uintptr(c), 0, uintptr(workspace)))
	require.NoError(t, e.Launch(s))
	require.NoError(t, e.Launch(s))
	require.Equal(t, []float32{2, 4, 6, 8}, download[float32](d, c, 4))
	require.Equal(t, []float32{12, 24, 36, 48}, download[float32](d, sum, 4))
	counted := Counters()
	require.EqualValues(t, 6, counted.Products)
	require.Equal(t, [2]uint64{3, 3}, [2]uint64(counted.Algorithms[:2]))
}

// TestProductsOfACaptureWantAWorkspace: setting the stream takes cuBLAS's workspace away.
func TestProductsOfACaptureWantAWorkspace(t *testing.T) {
	d, h := newDevice(t), newHandle(t)
	s := newStream(d, cu.StreamNonBlocking)
	g := square(2, upload(d, make([]float32, 4)), upload(d, make([]float32, 4)), alloc[float32](d, 4))
	require.NoError(t, h.SetWorkspace(alloc[byte](d, 1<<20), 1<<20))
	require.NoError(t, h.SetStream(s))
	require.NoError(t, h.GemmEx(&g))
	recorded(d, s, func() {
		require.ErrorIs(t, h.GemmEx(&g), cublas.NotSupported)
		require.Contains(t, Failure(), "wants cublasSetWorkspace after cublasSetStream")
	})
}

// TestGraphOfFreedMemory: a launch checks the memory as the calls themselves do.
func TestGraphOfFreedMemory(t *testing.T) {
	d, h := newDevice(t), newHandle(t)
	s := newStream(d, cu.StreamNonBlocking)
	require.NoError(t, h.SetStream(s))
	require.NoError(t, h.SetWorkspace(alloc[byte](d, 1<<20), 1<<20))
	kept := alloc[float32](d, 32)
	for name, work := range map[string]func(p cu.DevicePtr) error{
		"kernel": func(p cu.DevicePtr) error { return d.launchOn(s, "probe_store", line(1, 32), p) },
		"copy":   func(p cu.DevicePtr) error { return cu.MemcpyDtoDAsync(kept, p, 128, s) },
		"memset": func(p cu.DevicePtr) error { return cu.MemsetD8Async(p, 0, 128, s) },
		"product": func(p cu.DevicePtr) error {
			g := square(2, kept, kept, p)
			return h.GemmEx(&g)
		},
	} {
		p, err := cu.MemAlloc(128)
		require.NoError(t, err)
		e := recorded(d, s, func() { require.NoError(t, work(p), name) })
		require.NoError(t, e.Launch(s), name)
		require.NoError(t, cu.MemFree(p))
		require.Error(t, e.Launch(s), name)
		Restore()
	}
}

// TestLaterFaultOfAGraph: what follows the fault does not run.
func TestLaterFaultOfAGraph(t *testing.T) {
	d := newDevice(t)
	s := newStream(d, cu.StreamNonBlocking)
	y := upload(d, make([]float32, 32))
	e := recorded(d, s, func() {
		require.NoError(t, d.launchOn(s, "probe_store", line(1, 32), cu.DevicePtr(0)))
		require.NoError(t, d.launchOn(s, "probe_store", line(1, 32), y))
	})
	t.Setenv("RESIDUA_EMULATOR_FAULTS", "later")
	require.NoError(t, e.Launch(s))
	require.ErrorContains(t, s.Synchronize(), "CUDA_ERROR_ILLEGAL_ADDRESS")
	Restore()
	require.Equal(t, make([]float32, 32), download[float32](d, y, 32))
}

// TestCaptureRefuses: a call that cannot be recorded is an error, the capture is invalid from then
// on, and the stream works again after its end.
func TestCaptureRefuses(t *testing.T) {
	d := newDevice(t)
	y := alloc[float32](d, 32)
	event, err := cu.NewEvent()
	require.NoError(t, err)
	defer func() { require.NoError(t, event.Destroy()) }()
	empty := recorded(d, newStream(d, cu.StreamDefault), func() {})
	var host [32]float32
	at := unsafe.Pointer(&host)
	for name, test := range map[string]struct {
		flags cu.StreamFlags
		call  func(s cu.Stream) error
		want  cu.Result
	}{
		"waiting":             {cu.StreamNonBlocking, func(s cu.Stream) error { return s.Synchronize() }, cu.CaptureUnsupported},
		"waiting for all":     {cu.StreamNonBlocking, func(cu.Stream) error { return cu.Synchronize() }, cu.CaptureUnsupported},
		"asking":              {cu.StreamNonBlocking, func(s cu.Stream) error { _, err := s.Done(); return err }, cu.CaptureUnsupported},
		"destroying":          {cu.StreamNonBlocking, func(s cu.Stream) error { return s.Destroy() }, cu.CaptureUnsupported},
		"upload":              {cu.StreamNonBlocking, func(s cu.Stream) error { return cu.MemcpyHtoDAsync(y, at, 128, s) }, cu.CaptureUnsupported},
		"download":            {cu.StreamNonBlocking, func(s cu.Stream) error { return cu.MemcpyDtoHAsync(at, y, 128, s) }, cu.CaptureUnsupported},
		"graph":               {cu.StreamNonBlocking, func(s cu.Stream) error { return empty.Launch(s) }, cu.CaptureUnsupported},
		"its event":           {cu.StreamNonBlocking, func(s cu.Stream) error { return waitFor(d, event, s) }, cu.CapturedEvent},
		"default's kernel":    {cu.StreamDefault, func(cu.Stream) error { return d.launch("probe_store", line(1, 32), y) }, cu.CaptureImplicit},
		"default's memset":    {cu.StreamDefault, func(cu.Stream) error { return cu.MemsetD8Async(y, 0, 128, cu.NoStream) }, cu.CaptureImplicit},
		"default's copy":      {cu.StreamDefault, func(cu.Stream) error { return cu.MemcpyDtoDAsync(y, y+64, 64, cu.NoStream) }, cu.CaptureImplicit},
		"default's upload":    {cu.StreamDefault, func(cu.Stream) error { return cu.MemcpyHtoDAsync(y, at, 128, cu.NoStream) }, cu.CaptureImplicit},
		"default's event":     {cu.StreamDefault, func(cu.Stream) error { return event.Record(cu.NoStream) }, cu.CaptureImplicit},
		"waiting for default": {cu.StreamDefault, func(cu.Stream) error { return cu.NoStream.Synchronize() }, cu.CaptureImplicit},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStream(d, test.flags)
			require.NoError(t, s.BeginCapture())
			require.ErrorIs(t, test.call(s), test.want)
			require.ErrorIs(t, d.launchOn(s, "probe_store", line(1, 32), y), cu.CaptureInvalidated)
			_, err := s.EndCapture()
			require.ErrorIs(t, err, cu.CaptureInvalidated)
			require.NoError(t, d.launchOn(s, "probe_store", line(1, 32), y))
			require.NoError(t, d.launch("probe_store", line(1, 32), y))
			require.NoError(t, s.Synchronize())
			recorded(d, s, func() {})
		})
	}
}

// waitFor records an event in a stream and waits for it.
func waitFor(d *device, e cu.Event, s cu.Stream) error {
	require.NoError(d, e.Record(s))
	return e.Synchronize()
}

// TestProductOfTheDefaultStream: a product is work of the default stream as a kernel is, during a
// capture of a stream that waits for it.
func TestProductOfTheDefaultStream(t *testing.T) {
	d, h := newDevice(t), newHandle(t)
	a := upload(d, make([]float32, 4))
	g := square(2, a, a, alloc[float32](d, 4))
	s := newStream(d, cu.StreamDefault)
	require.NoError(t, s.BeginCapture())
	require.ErrorContains(t, h.GemmEx(&g), "EXECUTION_FAILED")
	_, err := s.EndCapture()
	require.ErrorIs(t, err, cu.CaptureInvalidated)
	recorded(d, newStream(d, cu.StreamNonBlocking), func() { require.NoError(t, h.GemmEx(&g)) })
}

func TestCaptureErrors(t *testing.T) {
	d := newDevice(t)
	s := newStream(d, cu.StreamNonBlocking)
	require.ErrorIs(t, cu.NoStream.BeginCapture(), cu.CaptureUnsupported)
	_, err := s.EndCapture()
	require.ErrorIs(t, err, cu.InvalidValue)
	e := recorded(d, s, func() {
		require.ErrorIs(t, s.BeginCapture(), cu.InvalidValue)
		require.Error(t, d.launchOn(s, "probe_store", line(1, 64), alloc[float32](d, 64)), "sizes are checked at the capture")
	})
	require.NoError(t, e.Launch(s))
	_, err = cu.Graph{}.Instantiate()
	require.ErrorContains(t, err, "CUDA_ERROR_INVALID_HANDLE")
	require.ErrorContains(t, cu.GraphExec{}.Launch(s), "CUDA_ERROR_INVALID_HANDLE")
}
