//go:build !linux

package memory

import "unsafe"

// LargePages does nothing: it is a hint.
func LargePages(unsafe.Pointer, int) {}
