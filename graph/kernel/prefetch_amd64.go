package kernel

import "unsafe"

// prefetchBytes asks the processor to load the n bytes at p into its caches.
//
//go:noescape
func prefetchBytes(p unsafe.Pointer, n int)
