package kernel

import "unsafe"

// product is C = alpha op(A) op(B) + beta C on one goroutine; see Gemm.Run.
type product[T Float] struct {
	ta, tb  bool
	m, n, k int
	alpha   T
	a       []T
	lda     int
	b       []T
	ldb     int
	beta    T
	c       []T
	ldc     int

	gatherA, gatherB gather
	factors          []T      // if A is transposed, factors of op(A)'s columns, [k], or nil
	weights          *Weights // if not nil, B of the whole product
	lower            bool     // see Gemm
	addend           []T      // see Gemm

	epilogue    Epilogue
	row, column int // position of C's first element in the whole product
}

// gather finds the stored rows of an operand whose rows lie scattered: row r is at row index[r]/per
// in memory; with a nil index, at row r.
type gather struct {
	index []int32
	per   int
}

func (g *gather) row(r int) int {
	if g.index == nil {
		return r
	}
	return int(g.index[r]) / g.per
}

// rowA returns the columns [j, j+n) of stored row r of A.
func (q *product[T]) rowA(r, j, n int) []T { return q.a[q.gatherA.row(r)*q.lda+j:][:n] }

// rowB returns the columns [j, j+n) of stored row r of B.
func (q *product[T]) rowB(r, j, n int) []T { return q.b[q.gatherB.row(r)*q.ldb+j:][:n] }

// check panics, as an index out of range does, unless the matrices fit into their slices: the
// micro-kernels check nothing.
func (q *product[T]) check() {
	if q.m < 0 || q.n < 0 || q.k < 0 {
		panic("kernel: negative matrix size")
	}
	if q.m == 0 || q.n == 0 {
		return
	}
	checkMatrix(q.c, q.m, q.n, q.ldc)
	if q.addend != nil {
		checkMatrix(q.addend, q.m, q.n, q.ldc)
	}
	if q.k == 0 {
		return
	}
	checkMatrix(q.a, choose(q.ta, q.k, q.m), choose(q.ta, q.m, q.k), q.lda)
	if q.weights != nil {
		q.checkWeights()
		return
	}
	checkMatrix(q.b, choose(q.tb, q.n, q.k), choose(q.tb, q.k, q.n), q.ldb)
}

// checkWeights panics if there are Weights and the product is not of float32 or its A is
// transposed.
func (q *product[T]) checkWeights() {
	if q.weights.k != q.k || q.weights.n != q.n || q.ta || unsafe.Sizeof(T(0)) != 4 {
		panic("kernel: weights of another product")
	}
}

// step returns the unit by which columns are divided: a panel.
func (q *product[T]) step(kernels *microkernels) int {
	if q.weights != nil {
		return weightsColumns
	}
	return kernels.width()
}

// checkMatrix panics unless s holds rows x columns elements with rows ld apart.
func checkMatrix[T any](s []T, rows, columns, ld int) {
	if rows > 1 && ld < columns {
		panic("kernel: rows overlap")
	}
	_ = s[(rows-1)*ld+columns-1]
}

func choose(condition bool, yes, no int) int {
	if condition {
		return yes
	}
	return no
}

// part returns the product restricted to the rows [i0, i1) and columns [j0, j1) of C, at least one
// of each.
func (q *product[T]) part(i0, i1, j0, j1 int) product[T] {
	r := *q
	r.m, r.n = i1-i0, j1-j0
	r.a = q.a[choose(q.ta, i0, i0*q.lda):]
	if q.weights == nil {
		r.b = q.b[choose(q.tb, j0*q.ldb, j0):]
	}
	r.c = q.c[i0*q.ldc+j0:]
	if q.addend != nil {
		r.addend = q.addend[i0*q.ldc+j0:]
	}
	r.row, r.column = q.row+i0, q.column+j0
	return r
}

// finished calls the epilogue for a block of C.
func (q *product[T]) finished(i, j, m, n int) {
	if q.epilogue != nil {
		q.epilogue.Block(q.row+i, q.column+j, m, n)
	}
}

// scale computes C = beta C.
func (q *product[T]) scale() {
	for i := range q.m {
		row := q.c[i*q.ldc : i*q.ldc+q.n]
		if q.beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= q.beta
		}
	}
}
