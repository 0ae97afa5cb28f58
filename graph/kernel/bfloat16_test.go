package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// bfloat16Words returns float32 numbers around every bfloat16: the upper half is the bfloat16, the
// lower half is at, or next to, a value that decides the rounding.
func bfloat16Words() []float32 {
	var list []float32
	for upper := range uint32(1 << 16) {
		for _, lower := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			list = append(list, math.Float32frombits(upper<<16|lower))
		}
	}
	return list
}

// nearestBFloat16 rounds x by comparing its distances, in float64, from the two bfloat16 around it.
func nearestBFloat16(x float32) BFloat16 {
	if x < 0 || x == 0 && math.Signbit(float64(x)) {
		return nearestBFloat16(-x) | 0x8000
	}
	below := BFloat16(math.Float32bits(x) >> 16)
	value := func(b BFloat16) float64 {
		if b == 0x7f80 {
			return 0x1p128 // the number after the largest
		}
		return float64(b.Float32())
	}
	if math.IsInf(float64(x), 0) {
		return below
	}
	down, up := float64(x)-value(below), value(below+1)-float64(x)
	if up < down || up == down && below&1 == 1 {
		return below + 1
	}
	return below
}

// TestRoundBFloat16 rounds float32 around every bfloat16, on every path.
func TestRoundBFloat16(t *testing.T) {
	src := bfloat16Words()
	forEachPath[float32](t, func(t *testing.T, p path) {
		got := make([]BFloat16, len(src))
		roundBFloat16(p, got, src)
		for i, x := range src {
			if x != x {
				require.Equal(t, BFloat16(math.Float32bits(x)>>16)|0x40, got[i], "NaN %#x", math.Float32bits(x))
				require.True(t, math.IsNaN(float64(got[i].Float32())))
				continue
			}
			if want := nearestBFloat16(x); got[i] != want || toBFloat16(x) != want {
				require.Failf(t, "wrong", "%g (%#x): want %#x, got %#x and %#x", x, math.Float32bits(x), want, got[i], toBFloat16(x))
			}
		}
	})
}

// TestWidenBFloat16 widens every bfloat16, on every path.
func TestWidenBFloat16(t *testing.T) {
	src := make([]BFloat16, 1<<16)
	for i := range src {
		src[i] = BFloat16(i)
	}
	forEachPath[float32](t, func(t *testing.T, p path) {
		got := make([]float32, len(src))
		widenBFloat16(p, got, src)
		for i, x := range got {
			if want := uint32(i) << 16; math.Float32bits(x) != want || math.Float32bits(src[i].Float32()) != want {
				require.Failf(t, "wrong", "%#x: got %#x", want, math.Float32bits(x))
			}
		}
	})
}

// TestBFloat16Lengths converts and interleaves slices of every length up to a few vectors, at every
// alignment, and checks that the elements around them are unchanged.
func TestBFloat16Lengths(t *testing.T) {
	const most = 67
	r := rand.New(rand.NewPCG(3, 4))
	floats := uniformSlice[float32](r, most)
	even, odd := make([]BFloat16, most), make([]BFloat16, most)
	for i := range even {
		even[i], odd[i] = BFloat16(r.Uint32()), BFloat16(r.Uint32())
	}
	forEachPath[float32](t, func(t *testing.T, p path) {
		for n := range most - 2 {
			for first := range 3 {
				rounded, widened, pairs := make([]BFloat16, most), make([]float32, most), make([]BFloat16, 2*most)
				roundBFloat16(p, rounded[first:first+n], floats[:n])
				widenBFloat16(p, widened[first:first+n], even[first:first+n])
				interleave(p, pairs[2*first:2*(first+n)], even[:n], odd[2:n+2])
				for i := range most {
					j := i - first
					if j < 0 || j >= n {
						require.Zero(t, rounded[i])
						require.Zero(t, math.Float32bits(widened[i]))
						require.Equal(t, []BFloat16{0, 0}, pairs[2*i:2*i+2])
						continue
					}
					require.Equal(t, toBFloat16(floats[j]), rounded[i])
					require.Equal(t, uint32(even[i])<<16, math.Float32bits(widened[i]))
					require.Equal(t, []BFloat16{even[j], odd[j+2]}, pairs[2*i:2*i+2])
				}
			}
		}
	})
	pairs := []BFloat16{9, 9, 9, 9, 9}
	interleave(portable, pairs, []BFloat16{1, 2}, nil)
	require.Equal(t, []BFloat16{1, 0, 2, 0, 9}, pairs)
}
