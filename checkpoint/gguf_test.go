package checkpoint

import (
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFloat16Rounds: each binary16 number stays as it is; a number between two of them becomes the
// nearer one, or the even one if both are equally near.
func TestFloat16Rounds(t *testing.T) {
	for bits := range uint16(0x7c00) {
		v := fromFloat16(bits)
		require.Equal(t, bits, toFloat16(v))
		require.Equal(t, bits|0x8000, toFloat16(-v))
		next := fromFloat16(bits + 1)
		if bits == 0x7bff {
			next = 65536
		}
		middle := (v + next) / 2
		require.Equal(t, bits+bits&1, toFloat16(middle), "%g", middle)
		require.Equal(t, bits, toFloat16(math.Nextafter32(middle, 0)))
		require.Equal(t, bits+1, toFloat16(math.Nextafter32(middle, 1e9)))
	}
	require.Equal(t, uint16(0x7c00), toFloat16(float32(math.Inf(1))))
	require.Equal(t, uint16(0x7c00), toFloat16(1e30))
	require.True(t, math.IsNaN(float64(fromFloat16(toFloat16(float32(math.NaN()))))))
}

// TestQ8Blocks: the scale is the largest magnitude over 127, halves are rounded away from 0, and a
// block too small for a scale in F16 becomes 0.
func TestQ8Blocks(t *testing.T) {
	numbers := make([]float32, 2*Q8Block)
	copy(numbers, []float32{-254, 1, 3, -5, 0.99, -0.99, 253}) // the scale is 2
	numbers[Q8Block] = 1e-9
	got, err := q8Blocks(numbers)
	require.NoError(t, err)
	want := make([]byte, 2*q8Bytes)
	copy(want, []byte{0, 0x40, 129, 1, 2, 253, 0, 0, 127})
	require.Equal(t, want, got)
	numbers[3] = 1e9
	_, err = q8Blocks(numbers)
	require.ErrorContains(t, err, "want a block of Q8_0 whose scale is an F16, up to 65504, got the scale 7.8740155e+06: write F32")
}

// TestEncodeGGUFRefuses: the error names the tensor that does not fit its type.
func TestEncodeGGUFRefuses(t *testing.T) {
	for want, as := range map[string]GGUFType{
		`tensor "x": want rows of a multiple of 32 for Q8_0, got the shape [2 3]: write F16`:    GGUFQ8,
		`tensor "x": want the type F32, F16, Q8_0 or BF16 of GGUF, got the number 2`:            2,
		`tensor "x": want elements of BF16, which end at 3.39e38, got 3.4028235e+38: write F32`: GGUFBF16,
	} {
		x := Tensor{Name: "x", Shape: []int{2, 3}, Data: []float32{0, math.MaxFloat32, 0, 0, 0, 0}}
		require.ErrorContains(t, EncodeGGUF(io.Discard, nil, []Tensor{x}, func(Tensor) GGUFType { return as }), want)
	}
}
