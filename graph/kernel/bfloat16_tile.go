package kernel

import (
	"math"
	"unsafe"
)

// Tiles of products of bfloat16. Elements of A and B are pairs along k: with a_0, b_0 the pair's
// first element (of even k) and a_1, b_1 its second, a step of the sum is
//
//	s <- fma(a_1, b_1, s);   s <- fma(a_0, b_0, s)
//
// where each fma is rounded once to float32, a denormal a or b is taken as zero, and a denormal
// result becomes zero with the same sign. The instruction VDPBF16PS does this; the other paths do
// the same, to the same bits (except for the bits of a NaN).
var (
	portablePairs = microkernels{path: portable, lanes: 2, vecs: 1, rows: tileHeights{1: 3}, fullOnly: true, pairs: true}
	neonPairs     = microkernels{path: neon, lanes: 4, vecs: 4, rows: tileHeights{1: 8, 2: 6, 3: 5, 4: 4}, pairs: true}
	neonWidePairs = microkernels{path: neonWide, lanes: 4, vecs: 4, rows: tileHeights{1: 8, 2: 8, 3: 6, 4: 6}, pairs: true}
	avx2Pairs     = microkernels{path: avx2, lanes: 8, vecs: 2, rows: tileHeights{1: 8, 2: 4}, pairs: true}
	splitPairs    = microkernels{path: avx512Split, lanes: 16, vecs: 2, rows: tileHeights{1: 14, 2: 12}, pairs: true}
	avx512Pairs   = microkernels{path: avx512, lanes: 16, vecs: 2, rows: tileHeights{1: 14, 2: 14}, pairs: true}
	amxPairs      = microkernels{path: amx, lanes: tileColumns, vecs: 2, rows: tileHeights{1: tileRows, 2: tileRows}, pairs: true, tiles: true}
	portableTiles = microkernels{path: amxPortable, lanes: tileColumns, vecs: 2, rows: tileHeights{1: tileRows, 2: tileRows}, pairs: true, tiles: true,
		portable: true}
)

// portableTilePanels unpacks Weights into panels as wide as those of tiles.
var portableTilePanels = microkernels{path: portable, lanes: tileColumns, vecs: 2}

// pairKernelsOf returns the micro-kernels for pairs on a path. On avx512 they need AVX512_BF16.
func pairKernelsOf(p path) *microkernels {
	if p == fastest {
		p = machinePairs
	}
	switch p {
	case amx, amxPortable:
		if p == amx && machinePairs == amx {
			return &amxPairs
		}
		return &portableTiles
	case avx512Split:
		return &splitPairs
	case avx512:
		return &avx512Pairs
	case avx2:
		return &avx2Pairs
	case neon:
		return &neonPairs
	case neonWide:
		return &neonWidePairs
	}
	return &portablePairs
}

// runPairs runs a tile of pairs.
func (t *tile[T]) runPairs(kernels *microkernels, rows, vecs int, transposed bool) {
	if kernels.path == portable {
		t.float32().runPortablePairs(rows, transposed)
		return
	}
	t.runFastPairs(kernels.path, rows, vecs, transposed, t.cols < kernels.lanes)
}

// runPortablePairs runs a tile of at most portablePairs.lanes columns.
func (t *tile[T]) runPortablePairs(rows int, transposed bool) {
	row, step := 2*t.as, 2
	if transposed {
		row, step = 2, 2*t.as
	}
	rows *= t.tiles
	a := unsafe.Slice((*BFloat16)(unsafe.Pointer(t.a)), (rows-1)*row+(t.k-1)*step+2)
	b := unsafe.Slice((*BFloat16)(unsafe.Pointer(t.b)), 2*((t.k-1)*t.bs+t.cols))
	for i := range rows {
		for j := range t.cols {
			sum := sumPairs(a[i*row:], step, b[2*j:], 2*t.bs, t.k)
			v := float32(t.alpha) * sum
			if t.beta != 0 {
				v = fma(float32(t.beta), float32(*at(t.d, i*t.cs+j)), v)
			}
			*at(t.c, i*t.cs+j) = T(v)
		}
	}
}

// sumPairs returns the sum of products of k pairs, which lie as and bs elements apart.
func sumPairs(a []BFloat16, as int, b []BFloat16, bs, k int) float32 {
	sum := float32(0)
	for p := range k {
		x, y := a[p*as:p*as+2], b[p*bs:p*bs+2]
		sum = flushingFMA(x[1], y[1], sum)
		sum = flushingFMA(x[0], y[0], sum)
	}
	return sum
}

// flushingFMA computes x*y + z for a z that is not denormal. Denormal x, y and results become zero.
// A result counts as denormal if it is one after rounding to 24 bits with an unlimited exponent.
func flushingFMA(x, y BFloat16, z float32) float32 {
	const (
		smallest = 0x1p-126 // the smallest float32 that is not denormal
		scale    = 0x1p64
	)
	sum := fmaToOdd(x.flushed(), y.flushed(), z)
	if math.Abs(sum) >= 2*smallest || sum != sum {
		return float32(sum)
	}
	rounded := float64(float32(sum * scale))
	if math.Abs(rounded) < smallest*scale {
		return float32(math.Copysign(0, sum))
	}
	return float32(rounded / scale)
}

// flushed returns x as float32, with zero for a denormal.
func (x BFloat16) flushed() float32 {
	const exponent, sign = 0x7f80, 0x8000
	if x&exponent == 0 {
		x &= sign
	}
	return x.Float32()
}

// flushed returns x, or zero with its sign for a denormal.
func flushed(x float32) float32 {
	if bits := math.Float32bits(x); bits&0x7f800000 == 0 {
		return math.Float32frombits(bits & (1 << 31))
	}
	return x
}

// fma returns x*y + z, rounded once.
func fma(x, y, z float32) float32 { return float32(fmaToOdd(x, y, z)) }

// fmaToOdd returns x*y + z rounded to odd: if a float64 cannot hold the sum exactly, the last bit
// is 1. Of the two float64 around the sum, this one rounds to float32, or to any shorter format, as
// the sum itself does (Boldo & Melquiond 2008); the nearest float64 might be rounded twice.
func fmaToOdd(x, y, z float32) float64 {
	product, addend := float64(x)*float64(y), float64(z) // exact
	sum := product + addend
	moved := sum - product
	rest := (product - (sum - moved)) + (addend - moved) // exact (Knuth's TwoSum)
	bits := math.Float64bits(sum)
	if rest == 0 || rest != rest || bits&1 == 1 { // rest is NaN where sum is infinite or NaN
		return sum
	}
	if (rest > 0) == (sum > 0) {
		return math.Float64frombits(bits + 1)
	}
	return math.Float64frombits(bits - 1)
}
