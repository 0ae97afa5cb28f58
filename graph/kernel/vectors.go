package kernel

//go:generate go run ./internal/vecgen

import "unsafe"

// The functions over slices from which kernels are built have two forms: portable Go, and for
// float32 the assembly of internal/vecgen, which says whether its lanes are float32 or
// float64. The files vectors_generated have functions f that choose between the assembly and
// fPortable, and functions named fast..., which are called only on paths other than portable.
// The first argument is a path from pathOf: only float32 has paths other than portable. The
// results of a path do not depend on where the slices lie in memory.

// pathOf returns the path that a kernel uses: fastest becomes the machine's, and every path becomes
// portable if T is not float32.
func pathOf[T Float](p path) path { return kernelsOf[T](p).path }

// pointer returns the address of x's first element.
func pointer[E any](x []E) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }
