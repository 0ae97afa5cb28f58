package kernel

import "unsafe"

// machinePairs is the fastest path that this processor has for products of bfloat16.
var machinePairs = machinePath

// fastRoundBFloat16 rounds the first n elements.
func fastRoundBFloat16(_ path, dst []BFloat16, src []float32, n int) {
	neonRound(&dst[0], &src[0], n)
}

// fastWidenBFloat16 widens the first n elements.
func fastWidenBFloat16(_ path, dst []float32, src []BFloat16, n int) {
	neonWiden(&dst[0], &src[0], n)
}

// fastInterleave makes the first n pairs.
func fastInterleave(_ path, dst, even, odd []BFloat16, n int) {
	neonInterleave((*float32)(unsafe.Pointer(&dst[0])), &even[0], &odd[0], n)
}

// runFastPairs runs one tile of pairs.
func (t *tile[T]) runFastPairs(_ path, rows, vecs int, transposed, partial bool) {
	t.float32().runPortablePairs(rows, transposed)
}
