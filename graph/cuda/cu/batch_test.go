package cu

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// engine returns a context as Gorgonia's engine uses it, with the goroutine that listens.
func engine(t *testing.T) BatchedContext {
	t.Helper()
	c, err := Device(0).MakeContext(SchedAuto)
	require.NoError(t, err)
	b := *NewBatchedContext(CtxFromCUContext(0, c, SchedAuto), 0)
	b.Work()
	return b
}

func TestBatchedContextRunsAtOnce(t *testing.T) {
	b := engine(t)
	defer b.Close()
	p, err := b.MemAlloc(96)
	require.NoError(t, err)
	x := newArguments(p)
	b.LaunchAndSync(kernel(t), 2, 3, 4, 32, 2, 1, 4096, NoStream, x.params[:])
	var words [12]uint64
	b.MemcpyDtoH(unsafe.Pointer(&words), p, 96)
	require.Equal(t, wanted(0), words)

	from, to := [2]int32{5, 6}, [2]int32{}
	b.MemcpyHtoD(p, unsafe.Pointer(&from), 8)
	b.Memcpy(p+8, p, 8)
	b.MemcpyDtoH(unsafe.Pointer(&to), p+8, 8)
	b.Synchronize()
	require.Equal(t, from, to)
	require.NoError(t, b.Errors())
}

func TestBatchedContextKeepsTheFirstError(t *testing.T) {
	b := engine(t)
	defer b.Close()
	c := b // as Gorgonia copies it
	gpu.FailNext(1)
	c.Memcpy(256, 512, 8)
	gpu.FailNext(2)
	b.Synchronize()
	const first = "copying on the GPU: CUDA_ERROR_INVALID_VALUE"
	require.EqualError(t, b.Errors(), first)
	require.EqualError(t, c.Error(), first)
	d := c
	d.DoWork()
	require.EqualError(t, d.Errors(), first)
}

func TestBatchedContextHasNoWork(t *testing.T) {
	b := engine(t)
	select {
	case <-b.WorkAvailable():
		t.Fatal("work")
	case <-b.Work():
		t.Fatal("work")
	case <-time.After(10 * time.Millisecond):
	}
	require.NoError(t, b.Close())
	_, open := <-b.WorkAvailable()
	require.False(t, open, "Close ends the goroutine that listens")
}

func TestBatchedContextClosesOnce(t *testing.T) {
	before := gpu.Holds()
	b := engine(t)
	c := b
	require.NoError(t, b.Close())
	require.NoError(t, c.Close())
	require.Equal(t, before, gpu.Holds())
	require.NoError(t, b.Errors())
}

// Gorgonia closes an engine that failed to start, and would wait for a goroutine that never ran.
func TestBatchedContextOfAnEngineThatNeverRan(t *testing.T) {
	before := gpu.Holds()
	c, err := Device(0).MakeContext(SchedAuto)
	require.NoError(t, err)
	b := NewBatchedContext(CtxFromCUContext(0, c), 0)
	require.EqualError(t, b.Close(), "the engine was closed before it ran")
	require.Equal(t, before, gpu.Holds())
}

func TestZeroBatchedContext(t *testing.T) {
	var b BatchedContext
	b.Cleanup()
	require.NoError(t, b.Errors())
}
