//go:build cuda

package emulator

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"
)

func normal(n int) []float32 {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func TestBlockReductions(t *testing.T) {
	orders(t, func(d *device) {
		const blocks, n = 5, 1000
		x := normal(blocks * n)
		sums, tops := alloc[float32](d, blocks), alloc[float32](d, blocks)
		require.NoError(d, d.launch("probe_block_sums", line(blocks, 256), sums, tops, upload(d, x), int32(n)))
		gotSums, gotTops := download[float32](d, sums, blocks), download[float32](d, tops, blocks)
		for b := range blocks {
			row, sum := x[b*n:(b+1)*n], 0.0
			for _, v := range row {
				sum += float64(v)
			}
			require.InDelta(d, sum, gotSums[b], 1e-3)
			require.Equal(d, slices.Max(row), gotTops[b])
		}
	})
}

func TestDynamicShared(t *testing.T) {
	orders(t, func(d *device) {
		for _, threads := range []int{1, 31, 64, 1000, 1024} {
			x := make([]int32, 3*threads)
			for i := range x {
				x[i] = int32(i)
			}
			y := alloc[int32](d, len(x))
			g := line(3, threads)
			g.shared = 4 * threads
			require.NoError(d, d.launch("probe_reverse", g, y, upload(d, x)))
			for block := range slices.Chunk(x, threads) {
				slices.Reverse(block)
			}
			require.Equal(d, x, download[int32](d, y, len(x)))
		}
	})
}

func TestMoreSharedThanIsFree(t *testing.T) {
	d := newDevice(t)
	t.Setenv("RESIDUA_EMULATOR_CAPABILITY", "9.0")
	g := line(1, 64)
	g.shared = 200 << 10
	x := make([]int32, 64)
	require.NoError(t, d.launch("probe_reverse", g, alloc[int32](d, 64), upload(d, x)))
}

// TestStaticSharedMemoryCounts: the limit of shared memory without SetMaxDynamicShared, and the
// limit that can be set, are for static and dynamic memory together.
func TestStaticSharedMemoryCounts(t *testing.T) {
	d := newDevice(t)
	f, err := d.module.Function("probe_reverse_static")
	require.NoError(t, err)
	own, err := f.Attribute(cu.FunctionSharedSize)
	require.NoError(t, err)
	require.Equal(t, 256, own)
	x := make([]int32, 64)
	y, in := alloc[int32](d, 64), upload(d, x)
	g := line(1, 64)
	g.shared = 48<<10 - 256
	require.NoError(t, d.launch("probe_reverse_static", g, y, in))
	g.shared = 48 << 10
	require.ErrorContains(t, d.launch("probe_reverse_static", g, y, in), "CUDA_ERROR_INVALID_VALUE")
	for capability, most := range map[string]int{"8.0": 163 << 10, "8.6": 99 << 10, "8.9": 99 << 10, "9.0": 227 << 10, "10.0": 227 << 10} {
		t.Setenv("RESIDUA_EMULATOR_CAPABILITY", capability)
		require.ErrorContains(t, f.SetMaxDynamicShared(most), "CUDA_ERROR_INVALID_VALUE", capability)
		require.NoError(t, f.SetMaxDynamicShared(most-256), capability)
	}
	require.NoError(t, d.launch("probe_reverse_static", g, y, in))
}

func TestSharedMemoryIsFresh(t *testing.T) {
	d := newDevice(t)
	g := line(3, 64)
	g.shared = 256
	y := alloc[uint32](d, 3*128)
	require.NoError(t, cu.MemsetD8Async(y, 0, 3*128*4, cu.NoStream))
	require.NoError(t, d.launch("probe_uninitialised", g, y))
	for _, word := range download[uint32](d, y, 3*128) {
		require.Equal(t, uint32(math.MaxUint32), word, "a NaN as a float")
	}
}

func TestWarpExchanges(t *testing.T) {
	orders(t, func(d *device) {
		x := make([]int32, 32)
		for i := range x {
			x[i] = int32(i * i % 37)
		}
		y := alloc[int32](d, 32*8)
		require.NoError(d, d.launch("probe_exchanges", line(1, 32), y, upload(d, x)))
		got := download[int32](d, y, 32*8)
		var thirds uint32
		for i, v := range x {
			if v%3 == 0 {
				thirds |= 1 << i
			}
		}
		votes := int32(1) // all are at least 0
		if slices.Contains(x, 17) {
			votes += 2
		}
		for lane := range 32 {
			want := []int32{
				x[lane*7%32], x[lane^5], x[min(lane, 28)+3], x[max(lane, 3)-3], int32(thirds), votes, x[lane^4], -1,
			}
			if lane+3 >= 32 {
				want[2] = x[lane]
			}
			if lane < 3 {
				want[3] = x[lane]
			}
			if lane < 8 {
				want[7] = x[min(lane+1, 7)]
			}
			require.Equal(d, want, got[lane*8:lane*8+8], "lane %d", lane)
		}
	})
}

func TestVotesOfABlock(t *testing.T) {
	d := newDevice(t)
	x := make([]int32, 256)
	for i := range x {
		x[i] = int32(i)
	}
	y := alloc[int32](d, 3)
	require.NoError(t, d.launch("probe_votes", line(1, 256), y, upload(d, x)))
	require.Equal(t, []int32{155, 1, 0}, download[int32](d, y, 3))
}

func TestAtomics(t *testing.T) {
	orders(t, func(d *device) {
		const n, values = 1000, 10
		x, want := make([]int32, n), make([]int32, values)
		var total uint32
		for i := range x {
			x[i] = int32(i * i % values)
			want[x[i]]++
			total += uint32(x[i])
		}
		counts, sum, top := upload(d, make([]int32, values)), upload(d, make([]uint32, 1)), upload(d, []int32{-5})
		require.NoError(d, d.launch("probe_atomics", line(4, 256), counts, sum, top, upload(d, x), int32(n)))
		require.Equal(d, want, download[int32](d, counts, values))
		require.Equal(d, total, download[uint32](d, sum, 1)[0])
		require.Equal(d, slices.Max(x), download[int32](d, top, 1)[0])
	})
}

func TestParametersAndIndices(t *testing.T) {
	d := newDevice(t)
	g := grid{blocks: cu.Dim{X: 2, Y: 3, Z: 4}, threads: cu.Dim{X: 5, Y: 3, Z: 2}}
	const blocks, threads = 24, 30
	y := alloc[float64](d, blocks*threads)
	require.NoError(t, d.launch("probe_parameters", g, y, int32(-3), int64(1)<<40, float32(0.5), 0.25, uint32(1<<31)))
	base := -3 + float64(int64(1)<<40) + 0.5 + 0.25 + float64(uint32(1)<<31)
	for i, v := range download[float64](d, y, blocks*threads) {
		require.Equal(t, base+float64(i/threads*1000+i%threads), v)
	}
}

// bf16Of rounds to nearest, ties to even, independently of other code: by comparing the two
// neighbours.
func bf16Of(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return 0x7fff
	}
	below, above := b&0xffff0000, b&0xffff0000+0x10000
	if b&0xffff > 0x8000 || b&0xffff == 0x8000 && below>>16%2 == 1 {
		return uint16(above >> 16)
	}
	return uint16(below >> 16)
}

func fromBF16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// tf32Of rounds to 10 bits of mantissa, ties away from zero.
func tf32Of(x float32) float32 {
	frac, exp := math.Frexp(math.Abs(float64(x)))
	rounded := math.Floor(frac*2048+0.5) / 2048
	return float32(math.Copysign(math.Ldexp(rounded, exp), float64(x)))
}

// manyFloats returns 512 numbers: ordinary ones, ties, infinities and NaN.
func manyFloats() []float32 {
	x := normal(512)
	for i, b := range []uint32{
		0x3f808000, 0x3f818000, 0xbf808000, 0x3f808001, 0x3f807fff, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00001, 0, 0x80000000, 1,
	} {
		x[i*17] = math.Float32frombits(b)
	}
	return x
}

func TestStorageTypes(t *testing.T) {
	d := newDevice(t)
	x := manyFloats()
	narrow := make([]uint16, len(x))
	wide := make([]uint32, len(x))
	words := make([]uint32, len(x))
	for i, v := range x {
		words[i] = math.Float32bits(v)
		narrow[i] = bf16Of(v)
		wide[i] = uint32(narrow[i]) << 16
	}
	y := alloc[float32](d, len(x))
	require.NoError(t, d.launch("probe_copy_f32", line(1, 32), y, upload(d, x)))
	require.Equal(t, words, download[uint32](d, y, len(x)))
	require.NoError(t, d.launch("probe_round", line(1, 32), y, upload(d, x)))
	require.Equal(t, narrow, download[uint16](d, y, len(x)))
	require.NoError(t, d.launch("probe_widen", line(1, 32), y, upload(d, narrow)))
	require.Equal(t, wide, download[uint32](d, y, len(x)))
	require.NoError(t, d.launch("probe_copy_bf16", line(1, 32), y, upload(d, narrow)))
	require.Equal(t, narrow, download[uint16](d, y, len(x)))
}

// product adds a [m, k] b [k, n] to c [m, n], all row-major.
func product(c, a, b []float32, m, n, k int, rounded func(float32) float32) []float32 {
	out := slices.Clone(c)
	for i := range m {
		for j := range n {
			sum := 0.0
			for p := range k {
				sum += float64(rounded(a[i*k+p])) * float64(rounded(b[p*n+j]))
			}
			out[i*n+j] += float32(sum)
		}
	}
	return out
}

func roundedBF16(x float32) float32 { return fromBF16(bf16Of(x)) }

func TestMatrixInstructions(t *testing.T) {
	for _, c := range []struct {
		kernel  string
		k       int
		rounded func(float32) float32
	}{{"probe_mma_bf16", 16, roundedBF16}, {"probe_mma_tf32", 8, tf32Of}} {
		t.Run(c.kernel, func(t *testing.T) {
			orders(t, func(d *device) {
				a, b, sums := normal(16*c.k), normal(c.k*8), normal(16*8)
				y := upload(d, sums)
				require.NoError(d, d.launch(c.kernel, line(1, 32), y, upload(d, a), upload(d, b)))
				require.InDeltaSlice(d, product(sums, a, b, 16, 8, c.k, c.rounded), download[float32](d, y, 128), 2e-5)
			})
		})
	}
}

func TestLdmatrixAndAsynchronousCopies(t *testing.T) {
	orders(t, func(d *device) {
		a, b, sums := normal(16*16), normal(16*8), normal(16*8)
		narrow := func(x []float32) []uint16 {
			y := make([]uint16, len(x))
			for i, v := range x {
				y[i] = bf16Of(v)
			}
			return y
		}
		y := upload(d, sums)
		require.NoError(d, d.launch("probe_ldmatrix", line(1, 32), y, upload(d, narrow(a)), upload(d, narrow(b))))
		require.InDeltaSlice(d, product(sums, a, b, 16, 8, 16, roundedBF16), download[float32](d, y, 128), 2e-5)
	})
}

// Checks the test's own rounding in cases that are easy to get wrong.
func TestRoundings(t *testing.T) {
	require.Equal(t, float32(1), roundedBF16(1+1.0/256))
	require.Equal(t, float32(1+2.0/128), roundedBF16(1+3.0/256))
	require.Equal(t, float32(1+1.0/1024), tf32Of(1+1.0/2048))
	require.Equal(t, 13, bits.TrailingZeros32(math.Float32bits(tf32Of(1+1.0/1024))))
}
