package kernel

import "unsafe"

// tile is one call of a micro-kernel,
//
//	C = alpha op(A) B + beta D
//
// for tiles of equal height, one after another, and at most one panel of columns. A is stored as
// [rows, k] or transposed as [k, rows]. Strides are in elements. With beta == 0, D is not read; D
// is C itself or has the same strides. Tiles of pairs are always one under another.
//
// The assembly reads the float32 form by offset (see internal/asmgen).
type tile[T Float] struct {
	a, b, c, d  *T
	k, tiles    int // both at least 1
	as, bs, cs  int
	cols        int // columns of the last vector, 1 to lanes
	an, bn      int // from a tile's A and B to the next one's; for tiles one under another bn is 0
	cn          int // from the row of C after a tile to the next tile, 0 for tiles one under another
	alpha, beta T
}

// float32 returns t itself, for a T that is float32.
func (t *tile[T]) float32() *tile[float32] { return (*tile[float32])(unsafe.Pointer(t)) }

// at returns the address i elements after p.
func at[T Float](p *T, i int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), i*int(unsafe.Sizeof(*p))))
}
