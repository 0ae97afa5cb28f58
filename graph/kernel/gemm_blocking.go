package kernel

// Sizes of the blocks that a product is divided into. A panel of B is blockK x width (48 KiB of
// float32 with AVX-512) and is read from the first-level cache; a block of A is blockM x blockK and
// stays in the second-level cache; a block of B is blockK x blockN.
const (
	blockM = 112
	blockK = 384
	blockN = 1024
)

// lowerM is the number of rows of a block when only the entries below the diagonal are needed:
// larger blocks would compute more entries that are not needed.
const lowerM = 28

// Operands with few panels or rows are read in place, because copying them would cost more than it
// saves.
const (
	directPanels = 3  // A is read in place for up to this many panels of columns
	directRows   = 28 // B is read in place for up to this many rows
)

// blocking says how a product is divided.
type blocking struct {
	m, n, k      int
	packA, packB bool
}

// evenly returns the piece size that needs the fewest pieces of at most most elements and makes
// them about equal, rounded up to a multiple of step.
func evenly(total, most, step int) int {
	pieces := (total + most - 1) / most
	size := (total + pieces - 1) / pieces
	return (size + step - 1) / step * step
}

// blocking chooses the division. The cuts of k depend only on k, so that every element of C is
// summed in the same order whatever rows and columns it is computed with.
func (q *product[T]) blocking(kernels *microkernels) blocking {
	wide, stepK := q.n > directPanels*kernels.width(), 1
	if q.weights != nil {
		stepK = weightsGroup
	}
	return blocking{
		m:     evenly(q.m, choose(q.lower, lowerM, blockM), 1),
		n:     evenly(q.n, blockN, q.step(kernels)),
		k:     evenly(q.k, blockK, stepK),
		packA: wide || q.gatherA.index != nil || q.factors != nil,
		packB: q.weights != nil || q.tb || wide && q.m > directRows || q.gatherB.index != nil,
	}
}

// run computes the product with scratch memory from the arena.
func (q *product[T]) run(kernels *microkernels, scratch *arena) {
	if q.m == 0 || q.n == 0 {
		return
	}
	if q.k == 0 {
		q.scale()
		q.finished(0, 0, q.m, q.n)
		return
	}
	if q.beta == 0 {
		q.beta = 0 // also if it is -0: the assembly looks at the bits
	}
	cut := q.blocking(kernels)
	if q.fewRows(kernels, &cut) {
		q.runFewRows(kernels, &cut, scratch)
		return
	}
	spaceB, spaceA, staging := q.space(&cut, scratch)
	x := block[T]{kernels: kernels}
	x.tile.alpha, x.tile.cs = q.alpha, q.ldc
	for j := 0; j < q.n; j += cut.n {
		x.n = min(cut.n, q.n-j)
		for p := 0; p < q.k; p += cut.k {
			x.tile.k = min(cut.k, q.k-p)
			x.tile.beta = q.beta
			if p > 0 {
				x.tile.beta = 1
			}
			q.placeB(&x, spaceB, p, j)
			q.runRows(&x, &cut, spaceA, staging, p, j)
		}
	}
}

// space divides scratch memory into a packed block of B, one of A and, if A's rows are gathered,
// one of A before it is transposed.
func (q *product[T]) space(cut *blocking, scratch *arena) (spaceB, spaceA, staging []T) {
	sizeB, sizeA, sizeStaging := 0, 0, 0
	if cut.packB {
		sizeB = cut.n * cut.k
	}
	if cut.packA {
		sizeA = cut.m * strideA(cut.k)
	}
	if q.ta && q.gatherA.index != nil {
		sizeStaging = cut.k * strideA(cut.m)
	}
	spaceB, rest := carve[T](scratch, sizeB, sizeA+sizeStaging)
	return spaceB, rest[:sizeA], rest[sizeA:]
}

// strideA returns the distance between the rows of a packed block of A. It is not a power of two,
// because such rows would compete for the same cache lines.
func strideA(k int) int { return k + 16 }

// placeB points the block at B[p:, j:], packing it into panels if necessary.
func (q *product[T]) placeB(x *block[T], space []T, p, j int) {
	width := x.kernels.width()
	if len(space) == 0 {
		x.tile.b, x.tile.bs, x.panel = &q.b[p*q.ldb+j], q.ldb, width
		return
	}
	k := x.tile.k
	x.tile.b, x.tile.bs, x.panel = &space[0], width, width*k
	if q.weights != nil {
		q.placeWeights(x, space, p, j)
		return
	}
	if !q.tb {
		q.packRows(x, space, p, j)
		return
	}
	for s := 0; s < x.n; s += width {
		transpose(x.kernels.path, space[s*k:], width, q.b[(j+s)*q.ldb+p:], q.ldb, min(width, x.n-s), k)
	}
}

// packRows packs B[p:, j:] row by row, in the order of memory, with prefetching.
func (q *product[T]) packRows(x *block[T], space []T, p, j int) {
	width := x.kernels.width()
	for r := range x.tile.k {
		row := q.rowB(p+r, j, x.n)
		if r+1 < x.tile.k {
			prefetch(q.rowB(p+r+1, j, x.n))
		}
		to := r * width
		for s := 0; s < x.n; s += width {
			copy(space[to:to+width], row[s:min(s+width, x.n)])
			to += x.panel
		}
	}
}

// runRows computes the block for all rows of C.
func (q *product[T]) runRows(x *block[T], cut *blocking, space, staging []T, p, j int) {
	columns := x.n
	for i := 0; i < q.m; i += cut.m {
		x.m = min(cut.m, q.m-i)
		if q.lower {
			x.n = min(columns, q.row+i+x.m-q.column-j)
		}
		if x.n <= 0 {
			continue
		}
		x.tile.c = &q.c[i*q.ldc+j]
		x.tile.d = x.tile.c
		if p == 0 && q.addend != nil {
			x.tile.d = &q.addend[i*q.ldc+j]
		}
		q.placeA(x, space, staging, i, p)
		x.run()
		if p+x.tile.k == q.k {
			q.finished(i, j, x.m, x.n)
		}
	}
}

// placeA points the block at A[i:, p:], packing it if necessary.
func (q *product[T]) placeA(x *block[T], space, staging []T, i, p int) {
	first := choose(q.ta, p*q.lda+i, i*q.lda+p)
	if len(space) == 0 {
		x.tile.a, x.tile.as, x.transposed = &q.a[first], q.lda, q.ta
		return
	}
	k := x.tile.k
	x.tile.a, x.tile.as, x.transposed = &space[0], strideA(k), false
	switch {
	case !q.ta:
		q.copyRowsA(space, strideA(k), i, p, x.m, k)
	case len(staging) == 0:
		transpose(x.kernels.path, space, strideA(k), q.a[first:], q.lda, k, x.m)
	default:
		q.copyRowsA(staging, strideA(x.m), p, i, k, x.m)
		transpose(x.kernels.path, space, strideA(k), staging, strideA(x.m), k, x.m)
	}
	if q.factors == nil {
		return
	}
	for r := range x.m {
		row := space[r*strideA(k):][:k]
		multiply(x.kernels.path, row, row, q.factors[p:p+k])
	}
}

// copyRowsA copies the columns [j, j+columns) of the stored rows [r, r+rows) of A.
func (q *product[T]) copyRowsA(dst []T, ds, r, j, rows, columns int) {
	for i := range rows {
		if i+1 < rows {
			prefetch(q.rowA(r+i+1, j, columns))
		}
		copy(dst[i*ds:i*ds+columns], q.rowA(r+i, j, columns))
	}
}
