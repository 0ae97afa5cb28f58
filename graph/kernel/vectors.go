package kernel

//go:generate go run ./internal/vecgen

import "unsafe"

// The functions over slices that the kernels are made of have two forms: portable Go,
// and for float32 the assembly of internal/vecgen (fast... in vectors_generated). Each says
// there whether its lanes are float32 or float64. The first argument of such a function
// is the path that pathOf has settled: only float32 goes beyond portable. The results of
// a path do not depend on where the slices lie in memory.

// pathOf settles the path of a kernel: fastest becomes that of the machine, and every
// path portable if T is not float32.
func pathOf[T Float](p path) path { return kernelsOf[T](p).path }

// pointer is the place of x.
func pointer[E any](x []E) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }
