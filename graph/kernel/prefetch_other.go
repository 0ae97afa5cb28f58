//go:build !amd64 && !arm64

package kernel

import "unsafe"

// prefetchNear does nothing; it is only a hint.
func prefetchNear(unsafe.Pointer, int) {}

// prefetchRows does nothing; it is only a hint.
func prefetchRows(unsafe.Pointer, int, int, int) {}

// prefetchFar does nothing; it is only a hint.
func prefetchFar(unsafe.Pointer, int) {}
