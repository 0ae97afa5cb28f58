package kernel

import "unsafe"

// capBytes is the memory that a scratch slice holds on to, in bytes.
func capBytes[E any](s []E) int {
	var e E
	return cap(s) * int(unsafe.Sizeof(e))
}
