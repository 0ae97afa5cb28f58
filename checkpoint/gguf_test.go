package checkpoint

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFloat16Rounds: each binary16 is its own, and what lies between two becomes the nearer or the even one.
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
