package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRecorderNotesWhatItIsAsked: it notes kernels with their grids and the sizes of their arrays,
// products, and copies.
func TestRecorderNotesWhatItIsAsked(t *testing.T) {
	r := NewRecorder(PrecisionBF16, 108)
	x, err := r.Alloc(F32, 100)
	require.NoError(t, err)
	leave, err := r.Enter()
	require.NoError(t, err)
	y, err := r.Scratch(BF16, 100)
	require.NoError(t, err)
	require.NoError(t, r.Convert(y, x))
	require.NoError(t, r.Gemm(Gemm{M: 5, N: 4, K: 20, A: y, LDA: 20, B: y, LDB: 4, Beta: 1, C: x, LDC: 4}))
	require.NoError(t, r.Zero(x))
	leave()

	work := r.Take()
	require.Len(t, work, 3)
	assert.Equal(t, Work{Kernel: "cast_f32_bf16", Grid: Eights(100), Bytes: 400 + 200}, work[0])
	assert.Equal(t, 2*5*4*20, work[1].Product.FLOPs())
	assert.Equal(t, 2*(100+80)+2*4*20, work[1].Bytes)
	assert.Equal(t, Work{Copy: CopyZero, Bytes: 400}, work[2])
	assert.Empty(t, r.Take())
	assert.NotEqual(t, x.Ptr, y.Ptr)
	assert.True(t, Aligned16(x, y))
}

// TestRecorderRefusesWhatADeviceRefuses: launches that do not fit the kernel's PTX are errors.
func TestRecorderRefusesWhatADeviceRefuses(t *testing.T) {
	r := NewRecorder("", 108)
	assert.Equal(t, PrecisionTF32, r.Precision())
	x, err := r.Alloc(F32, 8)
	require.NoError(t, err)
	assert.EqualError(t, r.Launch("cast_f32_f128", Eights(8)), "kernel cast_f32_f128: want one of the compiled kernels, got none of that name")
	assert.EqualError(t, r.Launch("cast_f32_bf16", Eights(8), x), "kernel cast_f32_bf16: want 3 arguments, got 1")
	assert.EqualError(t, r.Launch("cast_f32_bf16", Eights(8), x, x, Int(8)), "kernel cast_f32_bf16: argument 2: want 8 bytes, got 4")
	assert.ErrorContains(t, r.Launch("cast_f32_bf16", Grid{X: 1, Threads: 4096}, x, x, Long(8)), "want a grid of 1 to ")
	assert.ErrorContains(t, r.Gemm(Gemm{M: 1, N: 1, A: x, B: x, C: x}), "want sizes >= 1")
	assert.Empty(t, r.Take())
}
