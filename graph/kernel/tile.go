package kernel

import "unsafe"

// tile is one call of a micro-kernel,
//
//	C = alpha op(A) B + beta D
//
// for tiles of equal height, one under another, and at most one panel of columns. A is
// read as it is, [rows, k], or transposed, [k, rows]. Strides are in elements. beta == 0
// means that D is not read; D is C itself or shares its strides.
//
// The assembly reads the float32 form by offset (see internal/asmgen).
type tile[T Float] struct {
	a, b, c, d  *T
	k, tiles    int // both at least 1
	as, bs, cs  int
	cols        int // columns of the last vector, 1 to lanes
	alpha, beta T
}

// float32 is t itself, for a T that is float32.
func (t *tile[T]) float32() *tile[float32] { return (*tile[float32])(unsafe.Pointer(t)) }

// at is the address i elements after p.
func at[T Float](p *T, i int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), i*int(unsafe.Sizeof(*p))))
}
