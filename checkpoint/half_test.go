package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// readHalves reads a file with one tensor that holds all 65536 numbers of 16 bits.
func readHalves(t *testing.T, d DType) []float32 {
	const n = 1 << 16
	header := fmt.Sprintf(`{"x":{"dtype":%q,"shape":[%d],"data_offsets":[0,%d]}}`, d, n, 2*n)
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	file = append(file, header...)
	for i := range n {
		file = binary.LittleEndian.AppendUint16(file, uint16(i))
	}
	path := filepath.Join(t.TempDir(), "halves.safetensors")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	f, err := ReadTensors(path)
	require.NoError(t, err)
	require.Equal(t, F32, f.Tensors[0].DType())
	values, err := f.Tensors[0].Float32s()
	require.NoError(t, err)
	require.Len(t, values, n)
	return values
}

// TestFloat16 compares with the definition: (-1)^sign * 2^(exponent-15) * (1 + fraction/1024);
// where the exponent's bits are 0, the leading 1 is absent and the exponent is 1.
func TestFloat16(t *testing.T) {
	for i, got := range readHalves(t, F16) {
		exponent, fraction := i>>10&31, float64(i&1023)/1024
		want := math.Ldexp(1+fraction, exponent-15)
		switch {
		case exponent == 0:
			want = math.Ldexp(fraction, -14)
		case exponent == 31 && fraction == 0:
			want = math.Inf(1)
		case exponent == 31:
			require.True(t, math.IsNaN(float64(got)), "%#x", i)
			continue
		}
		require.Equal(t, want, math.Abs(float64(got)), "%#x", i)
		require.Equal(t, i>>15 == 1, math.Signbit(float64(got)), "%#x", i)
	}
}

func TestBFloat16(t *testing.T) {
	for i, got := range readHalves(t, BF16) {
		require.Equal(t, uint32(i)<<16, math.Float32bits(got))
	}
}

// TestToBFloat16s: each number becomes the nearest bfloat16, the even one of two equally near; a
// bfloat16 stays as it is.
func TestToBFloat16s(t *testing.T) {
	nearest := map[float32]float32{1: 1, -2.5: -2.5, 1.00390625: 1, 1.01171875: 1.015625, 1.004: 1.0078125, 3.4e38: float32(math.Inf(1)), float32(math.Inf(-1)): float32(math.Inf(-1))}
	for v, want := range nearest {
		require.Equal(t, want, ToBFloat16s([]float32{v})[0], v)
	}
	require.True(t, math.IsNaN(float64(ToBFloat16s([]float32{math.Float32frombits(0x7f800001)})[0])))
	all := readHalves(t, BF16)
	for i, got := range ToBFloat16s(all) {
		if all[i] == all[i] {
			require.Equal(t, all[i], got)
		}
	}
}

// TestModelOfBFloat16s: the file has half the size, is read as float32 with the same numbers, and
// its digest shows damage.
func TestModelOfBFloat16s(t *testing.T) {
	dir := t.TempDir()
	values := make([]float32, 5000)
	for i := range values {
		values[i] = float32(math.Sin(float64(i)))
	}
	rounded := ToBFloat16s(values)
	metadata := map[string]string{MetadataConfig: "{}"}
	wide, narrow := filepath.Join(dir, "wide.safetensors"), filepath.Join(dir, "narrow.safetensors")
	require.NoError(t, WriteModel(wide, []Tensor{{Name: "x", Shape: []int{50, 100}, Data: values}}, metadata))
	require.NoError(t, WriteModel(narrow, []Tensor{{Name: "x", Shape: []int{50, 100}, Data: rounded}}, metadata))
	f, err := ReadModel(narrow)
	require.NoError(t, err)
	require.Equal(t, F32, f.Tensors[0].DType())
	require.Equal(t, []float32(rounded), f.Tensors[0].Data)
	text, err := os.ReadFile(narrow)
	require.NoError(t, err)
	info, err := os.Stat(wide)
	require.NoError(t, err)
	require.Less(t, len(text), int(info.Size())*11/20)
	text[len(text)-3] ^= 4
	require.NoError(t, os.WriteFile(narrow, text, 0o600))
	_, err = ReadModel(narrow)
	require.ErrorContains(t, err, "digest")
}
