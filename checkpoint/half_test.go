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

// readHalves reads a file with one tensor of all 65536 numbers of 16 bits.
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

// TestFloat16 compares with the definition: (-1)^sign * 2^(exponent-15) * (1 + fraction/1024), without the leading 1
// and with exponent 1 where the exponent's bits are 0.
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
