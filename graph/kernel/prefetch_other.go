//go:build !amd64

package kernel

import "unsafe"

// prefetchNear does nothing; it is only a hint.
func prefetchNear(unsafe.Pointer, int) {}

// prefetchFar does nothing; it is only a hint.
func prefetchFar(unsafe.Pointer, int) {}
