package kernel

// expertProduct is a product on one goroutine whose operands' stored rows may lie
// scattered: they are gathered as they are packed.
type expertProduct[T Float] struct {
	product[T]
	gatherA, gatherB gather
	factors          []T // of op(A)'s columns, [k], where A is transposed; or nil
}

// gather finds the stored rows of an operand: its row r is row index[r]/per of the memory,
// row r itself where index is nil.
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

// run is product.run with gathered operands. m, n and k are at least 1.
func (q *expertProduct[T]) run(kernels *microkernels, scratch *arena) {
	if q.gatherA.index == nil && q.gatherB.index == nil && q.factors == nil {
		q.product.run(kernels, scratch)
		return
	}
	cut := q.blocking(kernels)
	cut.packA = cut.packA || q.gatherA.index != nil || q.factors != nil
	cut.packB = cut.packB || q.gatherB.index != nil
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
			for i := 0; i < q.m; i += cut.m {
				x.m = min(cut.m, q.m-i)
				x.tile.c = &q.c[i*q.ldc+j]
				x.tile.d = x.tile.c
				q.placeA(&x, spaceA, staging, i, p)
				x.run()
				if p+x.tile.k == q.k {
					q.finished(i, j, x.m, x.n)
				}
			}
		}
	}
}

// space divides scratch memory: a packed block of B, one of A, and one of A before its
// transposition.
func (q *expertProduct[T]) space(cut *blocking, scratch *arena) (spaceB, spaceA, staging []T) {
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

// placeB is product.placeB with gathered rows.
func (q *expertProduct[T]) placeB(x *block[T], space []T, p, j int) {
	if q.gatherB.index == nil {
		q.product.placeB(x, space, p, j)
		return
	}
	width := x.kernels.width()
	x.tile.b, x.tile.bs, x.panel = &space[0], width, width*x.tile.k
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

// rowB is the columns [j, j+n) of stored row r of B.
func (q *expertProduct[T]) rowB(r, j, n int) []T {
	first := q.gatherB.row(r)*q.ldb + j
	return q.b[first : first+n]
}

// rowA is the columns [j, j+n) of stored row r of A.
func (q *expertProduct[T]) rowA(r, j, n int) []T {
	first := q.gatherA.row(r)*q.lda + j
	return q.a[first : first+n]
}

// placeA is product.placeA with gathered rows, and with factors of the columns.
func (q *expertProduct[T]) placeA(x *block[T], space, staging []T, i, p int) {
	if q.gatherA.index == nil {
		q.product.placeA(x, space, i, p)
	} else {
		q.gatherRowsA(x, space, staging, i, p)
	}
	if q.factors == nil {
		return
	}
	k := x.tile.k
	for r := range x.m {
		row := space[r*strideA(k):][:k]
		multiply(x.kernels.path, row, row, q.factors[p:p+k])
	}
}

// gatherRowsA packs op(A)[i:, p:].
func (q *expertProduct[T]) gatherRowsA(x *block[T], space, staging []T, i, p int) {
	k := x.tile.k
	x.tile.a, x.tile.as, x.transposed = &space[0], strideA(k), false
	if !q.ta {
		q.copyRowsA(space, strideA(k), i, p, x.m, k)
		return
	}
	q.copyRowsA(staging, strideA(x.m), p, i, k, x.m)
	transpose(x.kernels.path, space, strideA(k), staging, strideA(x.m), k, x.m)
}

// copyRowsA copies the stored rows [r, r+rows), columns [j, j+columns) of A.
func (q *expertProduct[T]) copyRowsA(dst []T, ds, r, j, rows, columns int) {
	for i := range rows {
		if i+1 < rows {
			prefetch(q.rowA(r+i+1, j, columns))
		}
		copy(dst[i*ds:i*ds+columns], q.rowA(r+i, j, columns))
	}
}
