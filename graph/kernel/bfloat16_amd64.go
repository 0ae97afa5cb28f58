package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// machinePairs is the fastest path that this processor has for products of bfloat16.
var machinePairs = detectPairs()

// detectPairs takes the split form on Intel, where VDPBF16PS takes four times as long as a fused
// multiply-add.
func detectPairs() path {
	switch {
	case tilesMissing == "":
		return amx
	case machinePath == avx512 && (vendor() == intel || !cpu.X86.HasAVX512BF16):
		return avx512Split
	}
	return machinePath
}

// intel is what vendor returns for Intel's processors: "ntel", the end of "GenuineIntel".
const intel = 0x6c65746e

// vendor returns the last four bytes of the name of the processor's maker.
func vendor() uint32

// fastRoundBFloat16 rounds the first n elements on a fast path.
func fastRoundBFloat16(p path, dst []BFloat16, src []float32, n int) {
	if p >= avx512 {
		avx512Round(&dst[0], &src[0], n)
	} else {
		avx2Round(&dst[0], &src[0], n)
	}
}

// fastWidenBFloat16 widens the first n elements on a fast path.
func fastWidenBFloat16(p path, dst []float32, src []BFloat16, n int) {
	if p >= avx512 {
		avx512Widen(&dst[0], &src[0], n)
	} else {
		avx2Widen(&dst[0], &src[0], n)
	}
}

// fastInterleave interleaves the first n elements of even and odd on a fast path.
func fastInterleave(p path, dst, even, odd []BFloat16, n int) {
	to := (*float32)(unsafe.Pointer(&dst[0]))
	if p >= avx512 {
		avx512Interleave(to, &even[0], &odd[0], n)
	} else {
		avx2Interleave(to, &even[0], &odd[0], n)
	}
}

// runFastPairs runs one tile of pairs on a fast path.
func (t *tile[T]) runFastPairs(p path, rows, vecs int, transposed, partial bool) {
	switch p {
	case avx512Split:
		avx512SplitTile(rows, vecs, transposed, t.float32())
	case avx512:
		avx512PairTile(rows, vecs, transposed, t.float32())
	default:
		avx2PairTile(rows, vecs, transposed, partial, t.float32())
	}
}

// runTwoPanels computes a row of C from two panels of pairs, with AVX-512.
func (t *tile[T]) runTwoPanels() { avx512Pairsn1x4(t.float32()) }

// runFast runs the blocks of several calls, of which t is the first: wide ones have two tiles of
// columns, of which the second is whole or not.
func (t *tileBlock) runFast(calls int, wide, rounded, whole bool) {
	switch {
	case rounded && wide:
		amxRounded2(t, calls)
	case rounded:
		amxRounded1(t, calls)
	case wide && whole:
		amxBlock2(t, calls)
	case wide:
		amxBlockSpread2(t, calls)
	default:
		amxBlock1(t, calls)
	}
}

// fastCopyTileRow copies a row of 32 elements for each of several tiles.
func fastCopyTileRow(to, from []BFloat16, tiles int) { amxCopyRow(&to[0], &from[0], tiles) }

// fastTransposeTileRows writes tiles from columns of stored rows.
func fastTransposeTileRows(to []BFloat16, ds int, from []BFloat16, ss, tiles int) {
	amxTransposeRows(&to[0], ds, &from[0], ss, tiles)
}

// fastRoundRows rounds rows of scores.
func fastRoundRows(to []BFloat16, ds int, from []float32, ss, rows, n, limit, end int, factor float32) {
	amxRoundRows(&to[0], ds, &from[0], ss, rows, n, limit, end, factor)
}
