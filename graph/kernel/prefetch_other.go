//go:build !amd64

package kernel

import "unsafe"

// prefetchBytes does nothing: it is a hint.
func prefetchBytes(unsafe.Pointer, int) {}
