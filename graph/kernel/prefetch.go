package kernel

import "unsafe"

// prefetchDistance is the distance, in bytes, from the current token to the data that is
// prefetched. A kernel that walks through tokens spends too little time on each for the processor's
// own prefetching: without these hints, Read runs at a third of the speed once the stream does not
// fit into the caches.
const prefetchDistance = 8 << 10

// tokensAhead returns the number of tokens with the given number of elements in that distance.
func tokensAhead[T Float](elements int) int {
	return max(1, prefetchDistance/max(1, elements*int(unsafe.Sizeof(T(0)))))
}

// prefetchToken starts loading token i of s into the second-level cache, if there is one, and so
// leaves the data of the current token in the first-level cache.
func prefetchToken[T Float](s []T, i, elements int) {
	if first := i * elements; first < len(s) {
		prefetchFar(unsafe.Pointer(&s[first]), elements*int(unsafe.Sizeof(T(0))))
	}
}

// prefetchSmallToken is prefetchToken for kernels that need little of the first-level cache. It
// loads a token into that cache if the cache has room for this token and the current one.
func prefetchSmallToken[T Float](s []T, i, elements int) {
	if elements*int(unsafe.Sizeof(T(0))) > smallToken {
		prefetchToken(s, i, elements)
	} else if first := i * elements; first < len(s) {
		prefetch(s[first : first+elements])
	}
}

// smallToken is the largest size in bytes of a token that prefetchSmallToken loads into the
// first-level cache.
const smallToken = 4 << 10

// prefetch starts loading s.
func prefetch[T Float](s []T) {
	prefetchNear(unsafe.Pointer(unsafe.SliceData(s)), len(s)*int(unsafe.Sizeof(T(0))))
}

// prefetchBFloat16 starts loading s.
func prefetchBFloat16(s []BFloat16) {
	prefetchNear(unsafe.Pointer(unsafe.SliceData(s)), 2*len(s))
}
