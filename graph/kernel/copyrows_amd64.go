package kernel

import "unsafe"

// copyShortRows copies the given number of rows of size bytes, ds and ss bytes apart.
//
//go:noescape
func copyShortRows(dst unsafe.Pointer, ds int, src unsafe.Pointer, ss, size, rows int)
