package kernel

import "unsafe"

// prefetchDistance is how far ahead of the token at work the streams are loaded, in
// bytes. A kernel that walks through tokens spends too little time on each for the
// processor's own look-ahead: without this hint Read runs at a third of the speed once
// the stream does not fit the caches.
const prefetchDistance = 8 << 10

// tokensAhead is the number of tokens of the given number of elements in that distance.
func tokensAhead[T Float](elements int) int {
	return max(1, prefetchDistance/max(1, elements*int(unsafe.Sizeof(T(0)))))
}

// prefetchToken starts loading token i of s into the second-level cache, if there is one:
// what the kernel has in the first level for the token at work stays there.
func prefetchToken[T Float](s []T, i, elements int) {
	if first := i * elements; first < len(s) {
		prefetchFar(unsafe.Pointer(&s[first]), elements*int(unsafe.Sizeof(T(0))))
	}
}

// prefetchSmallToken is prefetchToken for kernels that use little else of the first-level
// cache: a token that fits there with the present one is loaded into it.
func prefetchSmallToken[T Float](s []T, i, elements int) {
	if elements*int(unsafe.Sizeof(T(0))) > smallToken {
		prefetchToken(s, i, elements)
	} else if first := i * elements; first < len(s) {
		prefetch(s[first : first+elements])
	}
}

// smallToken is the most bytes of a token that prefetchSmallToken loads into the first-level cache.
const smallToken = 4 << 10

// prefetch starts loading s.
func prefetch[T Float](s []T) {
	prefetchNear(unsafe.Pointer(unsafe.SliceData(s)), len(s)*int(unsafe.Sizeof(T(0))))
}

// prefetchBFloat16 starts loading s.
func prefetchBFloat16(s []BFloat16) {
	prefetchNear(unsafe.Pointer(unsafe.SliceData(s)), 2*len(s))
}
