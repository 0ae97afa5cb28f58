package kernel

import "unsafe"

// prefetchNear asks the processor to load the n bytes at p into all its caches.
func prefetchNear(p unsafe.Pointer, n int) { prefetchRows(p, n, 0, 1) }

// prefetchRows asks it for rows of size bytes, whose starts are stride bytes apart.
//
//go:noescape
func prefetchRows(p unsafe.Pointer, size, stride, rows int)

// prefetchFar asks the processor to load the n bytes at p into the second-level cache.
//
//go:noescape
func prefetchFar(p unsafe.Pointer, n int)
