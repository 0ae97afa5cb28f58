package kernel

import "unsafe"

// combination computes a few rows as sums of others with given coefficients,
//
//	out = A x + A2 x2 + addend
//
// all rows dense and of one width. Up to combineRows of them are computed in one go by
// micro-kernels that hold a panel of all rows in registers; more of them, and portably, as
// products.
type combination[T Float] struct {
	path   path
	rows   int
	tile   combineTile[T]
	blocks [2]block[T] // the two terms as products
}

// combineRows is the largest number of rows of the micro-kernels (internal/asmgen).
const combineRows = 8

// combineTile is one call of a micro-kernel. The assembly reads the float32 form by
// offset: b has k rows of cols elements, b2 has k2 (0: no such term), c and d as many as
// the micro-kernel computes. d may be nil. A's coefficient for row r of c and row i of b
// lies rs r + ks i bytes after a.
type combineTile[T Float] struct {
	c, d         *T
	a, b         *T
	k, rs, ks    int
	a2, b2       *T
	k2, rs2, ks2 int
	cols         int
}

// float32 is t itself, for a T that is float32.
func (t *combineTile[T]) float32() *combineTile[float32] {
	return (*combineTile[float32])(unsafe.Pointer(t))
}

// coefficients say how A lies in a matrix whose rows are stride elements apart: as
// [rows, k], or transposed as [k, rows].
type coefficients struct {
	k, stride  int
	transposed bool
}

// newCombination is a combination of one term or two, of rows of the given width.
func newCombination[T Float](p path, rows, width int, terms ...coefficients) combination[T] {
	x := combination[T]{path: pathOf[T](p), rows: rows}
	for i, a := range terms {
		x.blocks[i] = newBlock[T](p, rows, width, a.k, a.transposed)
		x.blocks[i].tile.as = a.stride
	}
	t, size := &x.tile, int(unsafe.Sizeof(T(0)))
	t.cols = width
	t.k, t.rs, t.ks = terms[0].strides(size)
	if len(terms) > 1 {
		t.k2, t.rs2, t.ks2 = terms[1].strides(size)
	}
	return x
}

// strides are the distances in bytes from one row of C, and of B, to the next.
func (a coefficients) strides(size int) (k, rs, ks int) {
	if a.transposed {
		return a.k, size, a.stride * size
	}
	return a.k, a.stride * size, size
}

// whole says that all of a column of x is read before that of out is written, so that out
// may be x.
func (x *combination[T]) whole() bool { return x.path != portable && x.rows <= combineRows }

// run computes out. addend may be nil, or out itself; a2 and x2 are not read where there
// is one term.
func (x *combination[T]) run(out, a, b, a2, b2, addend []T) {
	if !x.whole() {
		x.runBlocks(out, a, b, a2, b2, addend)
		return
	}
	width := x.tile.cols
	t := x.tile
	t.c, t.a, t.b = &out[:x.rows*width][0], &a[0], &b[:t.k*width][0]
	if addend != nil {
		t.d = &addend[:x.rows*width][0]
	}
	if t.k2 > 0 {
		t.a2, t.b2 = &a2[0], &b2[:t.k2*width][0]
	}
	t.runFast(x.path, x.rows)
}

// runBlocks is run as products.
func (x *combination[T]) runBlocks(out, a, b, a2, b2, addend []T) {
	x.blocks[0].multiply(out, a, b, addend)
	if x.tile.k2 > 0 {
		x.blocks[1].multiply(out, a2, b2, out)
	}
}

// aside returns the rows x from where the combination may read them while it writes out:
// x itself if that lies elsewhere or is read in time, else a copy in scratch.
func (x *combination[T]) aside(scratch *[]T, out, rows []T) []T {
	if &out[0] != &rows[0] || x.whole() {
		return rows
	}
	*scratch = grow(*scratch, len(rows))
	copy(*scratch, rows)
	return *scratch
}
