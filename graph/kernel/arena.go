package kernel

import "unsafe"

// arena is scratch memory that kernels of one worker use in turn. It grows to the
// largest request and is kept; the content never outlives the call that asked for it.
type arena struct {
	words []uint64
}

// cacheLine is the alignment of what an arena hands out, in bytes.
const cacheLine = 64

// carve returns two slices of n1 and n2 elements out of the arena, both starting on a
// cache line. Their content is unspecified, and the next carve takes them back.
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
