//go:build !linux

package memory

import "unsafe"

// LargePages does nothing on this system.
func LargePages(unsafe.Pointer, int) {}
