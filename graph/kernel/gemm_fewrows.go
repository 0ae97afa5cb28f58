package kernel

import "unsafe"

// A product of few rows, as in a decoding step, takes as long as B takes to arrive from memory. The
// micro-kernels for tiles read B a panel at a time, a cache line from each of k rows, or need B^T
// transposed; here either is read row by row, in the order of memory. Each element of C is summed
// in the same order as in a tile, to the same bits.
const (
	fewRows     = 4    // largest number of rows of C
	axpyRows    = 8    // rows of B that axpyTile adds at once
	axpyColumns = 4096 // columns of C that axpyTile sums at a time, in the first-level cache
	gemvRows    = 8    // rows of B^T, that is columns of C, of a gemvTile
)

// axpyTile is one call of the micro-kernel y += a_0 x_0, y += a_1 x_1, ... The assembly reads the
// float32 form by offset.
type axpyTile[T Float] struct {
	y, a  *T
	as    int // distance between the elements of a, one for each row of x
	x     *T
	xs    int // distance between the rows of x
	n     int // elements of y, and of a row of x
	ahead int // prefetches as many rows, beginning ahead elements after x
}

// gemvTile is one call of the micro-kernel y[v] = x a[v] for a few vectors a[v]. It prefetches as
// many elements as it reads, beginning ahead elements after x. The assembly reads the float32 form
// by offset.
type gemvTile[T Float] struct {
	y       *T
	ys      int // distance between the vectors y[v], of gemvRows elements
	a       *T
	as      int // distance between the vectors a[v]
	x       *T
	xs      int // distance between the gemvRows rows of x
	squares int // a row of x, like each a[v], has 8 * squares elements
	ahead   int
}

// float32 returns t itself, for a T that is float32.
func (t *axpyTile[T]) float32() *axpyTile[float32] {
	return (*axpyTile[float32])(unsafe.Pointer(t))
}

// float32 returns t itself, for a T that is float32.
func (t *gemvTile[T]) float32() *gemvTile[float32] {
	return (*gemvTile[float32])(unsafe.Pointer(t))
}

// fewRows tells whether runFewRows should compute the product.
func (q *product[T]) fewRows(kernels *microkernels, cut *blocking) bool {
	if q.weights != nil {
		return q.m <= fewRows && (q.beta == 0 || q.beta == 1)
	}
	if kernels.path == portable || q.m > fewRows || q.beta != 0 && q.beta != 1 || q.gatherA.index != nil || q.gatherB.index != nil || q.factors != nil ||
		q.addend != nil {
		return false
	}
	if q.tb {
		return !q.ta && q.n >= gemvRows && q.k%8 == 0 && cut.k%8 == 0
	}
	return q.n > directPanels*kernels.width()
}

// runFewRows computes the product from the rows of B, or of B^T.
func (q *product[T]) runFewRows(kernels *microkernels, cut *blocking, scratch *arena) {
	if q.weights != nil {
		sums, _ := carve[T](scratch, weightsColumns, 0)
		q.sumWeights(kernels.path, cut.k, sums)
		return
	}
	if !q.tb {
		sums, _ := carve[T](scratch, q.m*min(axpyColumns, q.n), 0)
		q.sumRows(cut.k, sums)
		return
	}
	sums, _ := carve[T](scratch, q.m*gemvRows, 0)
	whole := q.n / gemvRows * gemvRows
	q.sumColumns(whole, cut.k, sums)
	if whole < q.n {
		rest := q.part(0, q.m, whole, q.n)
		rest.run(kernels, scratch)
	}
}

// sumRows computes C from the rows of B, in sums over some columns at a time.
func (q *product[T]) sumRows(cutK int, sums []T) {
	for j := 0; j < q.n; j += axpyColumns {
		n := min(axpyColumns, q.n-j)
		for p := 0; p < q.k; p += cutK {
			clear(sums[:q.m*n])
			q.addRows(sums, n, p, min(p+cutK, q.k), j)
			q.addSums(sums, n, p, j)
		}
		q.finished(0, j, q.m, n)
	}
}

// addRows adds A[:, p:end] B[p:end, j:j+n] to sums [m, n].
func (q *product[T]) addRows(sums []T, n, p, end, j int) {
	t := axpyTile[T]{as: choose(q.ta, q.lda, 1), xs: q.ldb, n: n}
	for rows := 0; p < end; p += rows {
		rows = axpyRows
		if end-p < rows {
			rows = 1
		}
		t.x, t.ahead = &q.b[p*q.ldb+j], axpyRows*q.ldb
		if p+rows == q.k {
			t.ahead = 0
		}
		for i := range q.m {
			t.y, t.a = &sums[i*n], &q.a[choose(q.ta, p*q.lda+i, i*q.lda+p)]
			t.runFast(rows)
		}
	}
}

// sumColumns computes the first n columns of C from the rows of B^T.
func (q *product[T]) sumColumns(n, cutK int, sums []T) {
	t := gemvTile[T]{y: &sums[0], ys: gemvRows, as: q.lda, xs: q.ldb}
	for j := 0; j < n; j += gemvRows {
		for p := 0; p < q.k; p += cutK {
			t.a, t.x, t.squares = &q.a[p], &q.b[j*q.ldb+p], min(cutK, q.k-p)/8
			t.ahead = gemvRows*q.ldb + (gemvRows-1)*p // the rows of the next call follow directly
			t.runFast(q.m)
			q.addSums(sums, gemvRows, p, j)
		}
	}
	q.finished(0, 0, q.m, n)
}

// addSums computes C[:, j:j+n] = alpha sums + beta C, with beta 1 for p > 0.
func (q *product[T]) addSums(sums []T, n, p, j int) {
	for i := range q.m {
		q.addRow(q.c[i*q.ldc+j:][:n], sums[i*n:], p)
	}
}

// addRow does what addSums does, for one row c of C.
func (q *product[T]) addRow(c, sums []T, p int) {
	sums = sums[:len(c)]
	if p == 0 && q.beta == 0 {
		for l, s := range sums {
			c[l] = q.alpha * s
		}
		return
	}
	for l, s := range sums {
		c[l] += T(q.alpha * s) //nolint:unconvert // a conversion keeps the compiler from fusing the product with the sum
	}
}
