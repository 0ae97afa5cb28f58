package kernel

import "unsafe"

// A product of few rows, of a step of decoding, takes as long as B takes to come from memory.
// The micro-kernels of tiles read B a panel at a time, a cache line from each of k rows; here it
// is read row by row, in the order of memory; B^T is transposed a few panels at a time. Each element of C is summed as in a tile, to the
// same bits.
const (
	fewRows     = 4    // at most so many rows of C
	fewPanels   = 4    // B^T is transposed so many panels at a time
	axpyRows    = 4    // rows of B that the micro-kernel adds in one go
	axpyColumns = 1024 // columns of C that are summed at a time
)

// axpyTile is one call of the micro-kernel y += a_0 x_0, y += a_1 x_1, ... The assembly reads the
// float32 form by offset: y has n elements, x rows of n elements xs apart, a an element for each, as apart.
type axpyTile[T Float] struct {
	y, a *T
	as   int
	x    *T
	xs   int
	n    int
}

// float32 is t itself, for a T that is float32.
func (t *axpyTile[T]) float32() *axpyTile[float32] {
	return (*axpyTile[float32])(unsafe.Pointer(t))
}

// byRows tells whether runByRows computes the product.
func (q *product[T]) byRows(kernels *microkernels) bool {
	return kernels.path != portable && !q.tb && q.m <= fewRows && (q.beta == 0 || q.beta == 1) && q.n > directPanels*kernels.width()
}

// runByRows computes the product of few rows from the rows of B.
func (q *product[T]) runByRows(cutK int, scratch *arena) {
	sums, _ := carve[T](scratch, q.m*min(axpyColumns, q.n), 0)
	for j := 0; j < q.n; j += axpyColumns {
		n := min(axpyColumns, q.n-j)
		for p := 0; p < q.k; p += cutK {
			clear(sums[:q.m*n])
			q.addRows(sums, n, p, min(p+cutK, q.k), j)
			for i := range q.m {
				c := q.c[i*q.ldc+j:]
				addScaled(c[:n], sums[i*n:(i+1)*n], q.alpha, p > 0 || q.beta == 1)
			}
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
		t.x = &q.b[p*q.ldb+j]
		for i := range q.m {
			t.y, t.a = &sums[i*n], &q.a[choose(q.ta, p*q.lda+i, i*q.lda+p)]
			t.runFast(rows)
		}
	}
}

// addScaled does c = alpha sums, or adds that to c.
func addScaled[T Float](c, sums []T, alpha T, add bool) {
	if !add {
		for j, s := range sums {
			c[j] = alpha * s
		}
		return
	}
	for j, s := range sums {
		c[j] += T(alpha * s)
	}
}
