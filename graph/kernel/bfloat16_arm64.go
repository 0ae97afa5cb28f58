package kernel

import "unsafe"

// machinePairs is the fastest path that this processor has for products of bfloat16.
var machinePairs = detectPairs()

func detectPairs() path {
	if machinePath == neon && hasBFloat16() {
		return neonWide
	}
	return machinePath
}

// fastRoundBFloat16 rounds the first n elements.
func fastRoundBFloat16(_ path, dst []BFloat16, src []float32, n int) {
	neonRound(&dst[0], &src[0], n)
}

// fastWidenBFloat16 widens the first n elements.
func fastWidenBFloat16(_ path, dst []float32, src []BFloat16, n int) {
	neonWiden(&dst[0], &src[0], n)
}

// fastInterleave interleaves the first n elements of even and odd.
func fastInterleave(_ path, dst, even, odd []BFloat16, n int) {
	neonInterleave((*float32)(unsafe.Pointer(&dst[0])), &even[0], &odd[0], n)
}

// runFastPairs runs tiles of pairs on a fast path. The routines leave a tile with a denormal result
// to the portable form, and say in tiles how many are left.
func (t *tile[T]) runFastPairs(p path, rows, vecs int, transposed, partial bool) {
	rest := *t.float32()
	for {
		tiles := rest.tiles
		if p == neonWide {
			neonWideTile(rows, vecs, transposed, partial, &rest)
		} else {
			neonSplitTile(rows, vecs, transposed, partial, &rest)
		}
		if rest.tiles == 0 {
			return
		}
		left := rest.tiles - 1
		rest.skip(tiles-rest.tiles, rows)
		one := rest
		one.tiles, one.cols = 1, (vecs-1)*neonPairs.lanes+rest.cols
		one.runPortablePairs(rows, transposed)
		if rest.tiles = left; left == 0 {
			return
		}
		rest.skip(1, rows)
	}
}

// skip moves t down by some tiles, which lie one under another.
func (t *tile[T]) skip(tiles, rows int) {
	t.a = at(t.a, tiles*t.an)
	t.c, t.d = at(t.c, tiles*rows*t.cs), at(t.d, tiles*rows*t.cs)
}
