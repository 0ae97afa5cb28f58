package kernel

import "unsafe"

// combination computes a few rows as sums of others with given coefficients,
//
//	out = A x + A2 x2 + addend
//
// where all rows are dense and have one width. Micro-kernels that hold a panel of all rows in
// registers compute up to combineRows of them at once; more rows, and rows on the portable path,
// are computed as products.
type combination[T Float] struct {
	path   path
	rows   int
	tile   combineTile[T]
	blocks [2]block[T] // the two terms as products
}

// combineRows is the largest number of rows that the micro-kernels compute (internal/asmgen).
const combineRows = 8

// combineTile is one call of a micro-kernel. The assembly reads the float32 form by offset. b
// has k rows of cols elements, b2 has k2 (0: no second term), c and d have as many rows as the
// micro-kernel computes. d may be nil. A's coefficient for row r of c and row i of b lies rs r
// + ks i bytes after a.
type combineTile[T Float] struct {
	c, d         *T
	a, b         *T
	k, rs, ks    int
	a2, b2       *T
	k2, rs2, ks2 int
	cols         int
}

// float32 returns t itself, for a T that is float32.
func (t *combineTile[T]) float32() *combineTile[float32] {
	return (*combineTile[float32])(unsafe.Pointer(t))
}

// coefficients describes how A lies in a matrix whose rows are stride elements apart: as [rows, k],
// or transposed as [k, rows].
type coefficients struct {
	k, stride  int
	transposed bool
}

// newCombination returns a combination of one or two terms, of rows of the given width.
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

// strides returns the distances in bytes from one row of C, and of B, to the next.
func (a coefficients) strides(size int) (k, rs, ks int) {
	if a.transposed {
		return a.k, size, a.stride * size
	}
	return a.k, a.stride * size, size
}

// whole tells whether each column of x is read completely before the same column of out is
// written, so that out may be x.
func (x *combination[T]) whole() bool { return x.path != portable && x.rows <= combineRows }

// run computes out. addend may be nil, or out itself; with one term, a2 and x2 are not read.
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

// runBlocks does what run does, by products.
func (x *combination[T]) runBlocks(out, a, b, a2, b2, addend []T) {
	x.blocks[0].multiply(out, a, b, addend)
	if x.tile.k2 > 0 {
		x.blocks[1].multiply(out, a2, b2, out)
	}
}

// aside returns rows that the combination can read while it writes out: the given rows if they
// do not overlap out or are read in time, else a copy in scratch.
func (x *combination[T]) aside(scratch *[]T, out, rows []T) []T {
	if &out[0] != &rows[0] || x.whole() {
		return rows
	}
	*scratch = grow(*scratch, len(rows))
	copy(*scratch, rows)
	return *scratch
}
