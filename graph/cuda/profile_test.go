//go:build cuda

package cuda

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda/emulator"
)

// someWork starts one piece of work of each kind.
func someWork(t *testing.T, d Executor) {
	x, err := d.Alloc(F32, 20)
	require.NoError(t, err)
	defer d.Free(x)
	y, err := d.Alloc(F32, 20)
	require.NoError(t, err)
	defer d.Free(y)
	z, err := d.Alloc(BF16, 20)
	require.NoError(t, err)
	defer d.Free(z)
	host := make([]float32, 20)
	require.NoError(t, d.Upload(x, unsafe.Pointer(&host[0])))
	leave, err := d.Enter()
	require.NoError(t, err)
	require.NoError(t, d.Launch("fill_f32", Over(20, 32), x, Float(1), Long(20)))
	require.NoError(t, d.Launch("fill_f32", Grid{Threads: 32}, x.Slice(0, 0), Float(1), Long(0)))
	require.NoError(t, d.Zero(y))
	require.NoError(t, d.Gemm(Gemm{M: 4, N: 5, K: 3, TransA: true, Alpha: 1, A: x, LDA: 4, B: x, LDB: 5, C: y, LDC: 5}))
	require.NoError(t, d.Convert(z, x))
	require.NoError(t, d.Convert(y, x))
	leave()
	require.NoError(t, d.Download(unsafe.Pointer(&host[0]), x))
}

// TestProfile: a Device notes the same work as a Recorder, in the same order, and measures all of
// it, but nothing before StartProfile or after StopProfile.
func TestProfile(t *testing.T) {
	d, r := testDevice(t), NewRecorder(PrecisionFP32, 1)
	someWork(t, r)
	var want []string
	for i, w := range r.Take() {
		if i == 1 {
			want = append(want, "between ops 0") // from Enter
		}
		want = append(want, fmt.Sprint(w, " ", w.Bytes))
	}
	require.Contains(t, want, "4 x 3 x 5 f32, A transposed 188")
	emulator.ResetCounters()
	someWork(t, d)
	all, err := d.StopProfile()
	require.NoError(t, err)
	require.Empty(t, all)
	require.Zero(t, emulator.Counters().Events)
	for range 2 {
		begin := time.Now()
		require.NoError(t, d.StartProfile())
		someWork(t, d)
		all, err = d.StopProfile()
		took := time.Since(begin)
		require.NoError(t, err)
		var got []string
		sum := time.Duration(0)
		for _, timing := range all {
			assert.Positive(t, timing.Took, timing.String())
			sum += timing.Took
			got = append(got, fmt.Sprint(timing.Work, " ", timing.Bytes))
		}
		assert.Equal(t, want, got)
		assert.LessOrEqual(t, sum, took)
		someWork(t, d)
	}
	if emulator.Emulated() {
		assert.EqualValues(t, 2*(1+len(want)), emulator.Counters().Events)
	}
}
