package kernel

import "unsafe"

// prefetchNear asks the processor to load the n bytes at p into all its caches.
//
//go:noescape
func prefetchNear(p unsafe.Pointer, n int)

// prefetchFar asks the processor to load the n bytes at p into the second-level cache.
//
//go:noescape
func prefetchFar(p unsafe.Pointer, n int)
