package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"

	"github.com/residua-go/residua/internal/longtest"
)

// forEachPairPath runs f on every path for bfloat16 that this machine has.
func forEachPairPath(t *testing.T, f func(t *testing.T, p path)) {
	for _, p := range []path{portable, neon, neonWide, avx2, avx512Split, avx512} {
		t.Run(p.String(), func(t *testing.T) {
			if !hasPairs(p) {
				t.Skip("this processor lacks products of bfloat16 by " + p.String())
			}
			f(t, p)
		})
	}
}

// hasPairs tells whether the machine has the instructions of a path for bfloat16.
func hasPairs(p path) bool {
	switch p {
	case amx:
		return machinePairs == amx
	case avx512:
		return machinePath == avx512 && cpu.X86.HasAVX512BF16
	case neonWide:
		return machinePairs == neonWide
	}
	return hasPath(min(p, avx512))
}

// forEachBFloat16Path runs f on every path that products of bfloat16 take on this machine, and on
// path amx, if need be without its instructions. The others have the same bits; amx has its own.
func forEachBFloat16Path(t *testing.T, f func(t *testing.T, p path)) {
	forEachPairPath(t, f)
	t.Run(amx.String(), func(t *testing.T) { f(t, amx) })
}

// requireSameFloats checks for the same bits; where NaN is wanted, any NaN will do.
func requireSameFloats(t *testing.T, want, got []float32, what any) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, w := range want {
		if math.Float32bits(w) != math.Float32bits(got[i]) && (w == w || got[i] == got[i]) {
			require.Failf(t, "other bits", "%v: at %d want %g (%#x), got %g (%#x)", what, i, w, math.Float32bits(w), got[i], math.Float32bits(got[i]))
		}
	}
}

// randomBits draws a float32, of any exponent or with an exponent within 32 of the given one.
func randomBits(r *rand.Rand, exponent int) uint32 {
	bits := r.Uint32()
	if r.IntN(3) == 0 {
		bits &^= 0xffff >> r.IntN(17) // few bits, so that some sums are ties
	}
	if exponent < 0 {
		return bits
	}
	return bits&0x807fffff | uint32(min(254, max(0, exponent+r.IntN(64)-32)))<<23
}

// TestFMA compares fma with sums in arbitrary precision.
func TestFMA(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rounds := 200_000
	if longtest.Enabled() {
		rounds *= 10
	}
	for range rounds {
		ex, ey := r.IntN(255), r.IntN(255)
		x, y := math.Float32frombits(randomBits(r, ex)), math.Float32frombits(randomBits(r, ey))
		z := math.Float32frombits(randomBits(r, max(0, ex+ey-127+r.IntN(60)-30)))
		exact := new(big.Float).SetPrec(1000).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
		exact.Add(exact, big.NewFloat(float64(z)))
		want, _ := exact.Float32()
		got := fma(x, y, z)
		if want == 0 && got == 0 {
			continue // big.Float's sign of a zero sum is not IEEE's
		}
		if want != got {
			require.Equal(t, math.Float32bits(want), math.Float32bits(got), "%g * %g + %g", x, y, z)
		}
	}
}

// pairTileOf computes c [cols], the sums of the products of a's k pairs with the columns of b [k,
// cols], on a path.
func pairTileOf(p path, a, b []BFloat16, k, cols int, c []float32) {
	kernels := pairKernelsOf(p)
	x := block[float32]{kernels: kernels}
	vecs := (cols + kernels.lanes - 1) / kernels.lanes
	x.runTiles(&tile[float32]{
		a: (*float32)(unsafe.Pointer(&a[0])), b: (*float32)(unsafe.Pointer(&b[0])), c: &c[0], d: &c[0], k: k, tiles: 1,
		as: k, bs: cols, cs: cols, cols: cols - (vecs-1)*kernels.lanes, alpha: 1,
	}, 1, vecs)
}

// TestPairSums compares every path with the portable one for sums of a few products of any
// bfloat16, including denormals, infinities and NaN, and for products whose sums are near zero or
// near the smallest numbers.
func TestPairSums(t *testing.T) {
	rounds := 20_000
	switch {
	case longtest.Exhaustive():
		rounds *= 50
	case longtest.Enabled():
		rounds *= 8
	}
	forEachPairPath(t, func(t *testing.T, p path) {
		r := rand.New(rand.NewPCG(5, 6))
		width := pairKernelsOf(p).lanes
		for i := range rounds {
			k := 1 + r.IntN(4)
			a, b := make([]BFloat16, 2*k), make([]BFloat16, 2*k*width)
			ea, eb := -1, -1
			if i%4 > 0 {
				ea = r.IntN(255)
				eb = r.IntN(255)
				if i%4 == 2 {
					eb = min(254, max(0, 127-ea+r.IntN(80)-40)) // products near the smallest numbers
				}
			}
			for j := range a {
				a[j] = BFloat16(randomBits(r, ea) >> 16)
			}
			for j := range b {
				b[j] = BFloat16(randomBits(r, eb) >> 16)
			}
			got := make([]float32, width)
			pairTileOf(p, a, b, k, width, got)
			for j := range got {
				want := sumPairs(a, 2, b[2*j:], 2*width, k)
				if math.Float32bits(want) != math.Float32bits(got[j]) && (want == want || got[j] == got[j]) {
					require.Failf(t, "other bits", "round %d: want %g (%#x), got %g (%#x) of a %04x, b %04x", i, want, math.Float32bits(want), got[j], math.Float32bits(got[j]), a, pairColumn(b, j, width))
				}
			}
		}
	})
}

// pairColumn returns column j of pairs [k, width].
func pairColumn(b []BFloat16, j, width int) (c []BFloat16) {
	for ; j < len(b)/2; j += width {
		c = append(c, b[2*j], b[2*j+1])
	}
	return c
}

// TestPairMicrokernels compares every micro-kernel for pairs with sumPairs and fma, to the bit,
// with whole and partial vectors, one tile and several, and an addend that is not C.
func TestPairMicrokernels(t *testing.T) {
	forEachPairPath(t, func(t *testing.T, p path) {
		kernels := pairKernelsOf(p)
		require.Equal(t, p, kernels.path)
		for vecs := 1; vecs <= kernels.vecs; vecs++ {
			for rows := 1; rows <= kernels.rows[vecs]; rows++ {
				for i, cols := range []int{1, kernels.lanes - 1, kernels.lanes} {
					for _, transposed := range []bool{false, true} {
						testPairMicrokernel(t, kernels, microkernelCase{rows, vecs, cols, 1 + i, 1 + 3*i, transposed, 0})
						testPairMicrokernel(t, kernels, microkernelCase{rows, vecs, cols, 3 - i, 70, transposed, -0.7})
					}
				}
			}
		}
	})
}

func testPairMicrokernel(t *testing.T, kernels *microkernels, c microkernelCase) {
	const alpha = 1.3
	r := rand.New(rand.NewPCG(uint64(c.rows), uint64(c.cols)))
	m, n := c.rows*c.tiles, (c.vecs-1)*kernels.lanes+c.cols
	as, bs, cs := choose(c.transposed, m, c.k)+1, n+2, n+3
	a, b := randomBFloat16(r, 2*choose(c.transposed, c.k, m)*as), randomBFloat16(r, 2*c.k*bs)
	got, d := uniformSlice[float32](r, m*cs), uniformSlice[float32](r, m*cs)
	want := append([]float32(nil), got...)
	for i := range m {
		row, step := 2*i*as, 2
		if c.transposed {
			row, step = 2*i, 2*as
		}
		for j := range n {
			v := alpha * sumPairs(a[row:], step, b[2*j:], 2*bs, c.k)
			if c.beta != 0 {
				v = fma(float32(c.beta), d[i*cs+j], v)
			}
			want[i*cs+j] = v
		}
	}
	x := block[float32]{kernels: kernels, transposed: c.transposed}
	x.runTiles(&tile[float32]{
		a: (*float32)(unsafe.Pointer(&a[0])), b: (*float32)(unsafe.Pointer(&b[0])), c: &got[0], d: &d[0], k: c.k, tiles: c.tiles,
		as: as, bs: bs, cs: cs, cols: c.cols, an: choose(c.transposed, c.rows, c.rows*as), alpha: alpha, beta: float32(c.beta),
	}, c.rows, c.vecs)
	requireSameFloats(t, want, got, c)
}

// randomBFloat16 returns n bfloat16 in [-1, 1].
func randomBFloat16(r *rand.Rand, n int) []BFloat16 {
	s := make([]BFloat16, n)
	RoundBFloat16(s, uniformSlice[float32](r, n))
	return s
}

// TestPairSumsAtTheSmallest subtracts a little from the smallest number that is not denormal. The
// sum counts as denormal if it is one after rounding to 24 bits, not to the fewer bits of a
// denormal number, and not before rounding.
func TestPairSumsAtTheSmallest(t *testing.T) {
	forEachPairPath(t, func(t *testing.T, p path) {
		for _, sign := range []float32{1, -1} {
			for exponent := -60; exponent <= -15; exponent++ {
				for fraction := float32(1); fraction < 2; fraction += 0x1p-7 {
					little := fraction * float32(math.Ldexp(1, exponent))
					a := []BFloat16{toBFloat16(-sign * 0x1p-100), toBFloat16(sign * 0x1p-100)}
					b := []BFloat16{toBFloat16(little), toBFloat16(0x1p-26)}
					got := []float32{0}
					pairTileOf(p, a, b, 1, 1, got)
					// The same sum multiplied by 2^64, where nothing is denormal.
					want := sign * float32(0x1p-36*0x1p-26-0x1p-36*float64(little))
					if want == 0 {
						want = 0 // 0, not -0
					} else if math.Abs(float64(want)) < 0x1p-62 {
						want = float32(math.Copysign(0, float64(want)))
					}
					requireSameFloats(t, []float32{want}, []float32{got[0] * 0x1p64}, little)
				}
			}
		}
	})
}
