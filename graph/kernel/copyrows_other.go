//go:build !amd64

package kernel

import "unsafe"

// copyShortRows copies the given number of rows of size bytes, ds and ss bytes apart.
func copyShortRows(dst unsafe.Pointer, ds int, src unsafe.Pointer, ss, size, rows int) {
	for i := range rows {
		to := unsafe.Slice((*[copyStep]byte)(unsafe.Add(dst, i*ds)), size/copyStep)
		copy(to, unsafe.Slice((*[copyStep]byte)(unsafe.Add(src, i*ss)), size/copyStep))
	}
}
