package kernel

import "unsafe"

// arena is scratch memory that one worker's kernels use in turn. It grows to the largest request
// and stays allocated; its content is valid only during the call that carved it.
type arena struct {
	words []uint64
}

// cacheLine is the alignment, in bytes, of the slices that an arena returns.
const cacheLine = 64

// carve returns two slices of n1 and n2 elements from the arena, both starting at a cache line.
// Their content is unspecified, and the next carve reuses the memory.
func carve[T Float](a *arena, n1, n2 int) (s1, s2 []T) {
	size := int(unsafe.Sizeof(T(0)))
	round := cacheLine / size
	n1up := (n1 + round - 1) / round * round
	a.words = grow(a.words, ((n1up+n2)*size+cacheLine)/8+1)
	base := unsafe.Pointer(unsafe.SliceData(a.words))
	base = unsafe.Add(base, -uintptr(base)&(cacheLine-1))
	all := unsafe.Slice((*T)(base), n1up+n2)
	return all[:n1:n1], all[n1up:]
}
