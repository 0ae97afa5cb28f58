package kernel

import "unsafe"

// Sizes of the blocks that a product of bfloat16 is divided into. All of k is packed for a block of
// A's rows, which stays in the second-level cache; pairBlockK rows of a panel of B are read for all
// those rows, from the first- or second-level cache. Measured with AVX512_BF16 at the shapes of
// BenchmarkGemmBFloat16.
const (
	pairBlockM = 112
	pairBlockK = 1024
	pairBlockN = 1024
	pairBlockA = 512 << 10 // elements of a block of A that has more rows than a tile
)

// pairCutK returns the length of the partial sums that are added one after another to C. It depends
// only on k, and is the same on every path, so the bits are, too.
func pairCutK(k int) int { return evenly(k, pairBlockK, 2) }

// run computes the product with scratch memory from the arena.
func (q *pairProduct[C]) run(b PackedBFloat16, scratch *arena) {
	if q.k == 0 {
		q.scale()
		q.finished(0, 0, q.m, q.n)
		return
	}
	if q.beta == 0 {
		q.beta = 0 // also if it is -0: the assembly looks at the bits
	}
	kernels := b.kernels
	if kernels.tiles {
		q.runTiles(b, scratch)
		return
	}
	heights := max(kernels.rows[kernels.vecs], min(pairBlockM, pairBlockA/q.k))
	if q.lower {
		heights = min(heights, lowerM)
	}
	m, n := evenly(q.m, heights, 1), evenly(q.n, pairBlockN, kernels.width())
	as := q.strideA(m)
	sizeSums := 0
	if q.rounds() {
		sizeSums = (m + 2) * n
	}
	spaceA, sums := carve[float32](scratch, as*choose(q.ta, (q.k+1)/2, m), sizeSums)
	for i := 0; i < q.m; i += m {
		rows := min(m, q.m-i)
		q.packA(kernels.vectors(), spaceA, as, i, rows)
		for j := 0; j < q.n; j += n {
			columns := min(n, q.n-j)
			if q.lower {
				columns = min(columns, q.row+i+rows-q.column-j)
			}
			if columns <= 0 {
				break
			}
			x := block[float32]{kernels: kernels, m: rows, n: columns, transposed: q.ta, panel: b.panel}
			x.tile.alpha, x.tile.as, x.tile.bs = q.alpha, as, kernels.width()
			q.runBlock(&x, b.Part(0, q.k, j, j+columns).words, spaceA, sums, i, j)
			q.finished(i, j, rows, columns)
		}
	}
}

// rounds tells whether C is bfloat16.
func (q *pairProduct[C]) rounds() bool { return unsafe.Sizeof(C(0)) == 2 }

// strideA returns the distance between stored rows of a packed block of A, in pairs: if A is
// transposed, rows have m columns, otherwise k elements.
func (q *pairProduct[C]) strideA(m int) int {
	if q.ta {
		return (m + 15) / 16 * 16
	}
	return strideA((q.k + 1) / 2)
}

// packA packs the rows [i, i+rows) of op(A) as rows of pairs. If A is transposed, each packed
// row pairs the elements of two of its stored rows.
func (q *pairProduct[C]) packA(p path, space []float32, as, i, rows int) {
	if q.ta {
		for r := 0; r < q.k; r += 2 {
			var odd []BFloat16
			if r+1 < q.k {
				odd = q.rowA(r+1, i, rows)
			}
			if r+3 < q.k {
				prefetchBFloat16(q.rowA(r+2, i, rows))
				prefetchBFloat16(q.rowA(r+3, i, rows))
			}
			interleave(p, pairsOf(space[r/2*as:][:rows]), q.rowA(r, i, rows), odd)
		}
		return
	}
	for r := range rows {
		if r+1 < rows {
			prefetchBFloat16(q.rowA(i+r+1, 0, q.k))
		}
		to := pairsOf(space[r*as:][:(q.k+1)/2])
		to[len(to)-1] = 0 // completes the last pair of an odd k
		copy(to, q.rowA(i+r, 0, q.k))
	}
}

// rowA returns the columns [j, j+n) of stored row r of A.
func (q *pairProduct[C]) rowA(r, j, n int) []BFloat16 { return q.a[r*q.lda+j:][:n] }

// runBlock computes the block x at (i, j) of C, from panels of B that begin at its columns.
func (q *pairProduct[C]) runBlock(x *block[float32], b, a, sums []float32, i, j int) {
	t := &x.tile
	var c []float32
	if q.rounds() {
		c, t.cs = sums, x.n
		q.readOld(x, sums, i, j)
	} else {
		c, t.cs = floats(q.c[i*q.ldc+j:]), q.ldc
	}
	t.c, t.d = &c[0], &c[0]
	if q.addend != nil {
		t.d = &q.addend[i*q.ldc+j]
	}
	cut := pairCutK(q.k)
	for p := 0; p < q.k; p += cut {
		t.k = (min(cut, q.k-p) + 1) / 2
		t.a, t.b = &a[choose(q.ta, p/2*t.as, p/2)], &b[p/2*t.bs]
		t.beta = q.beta
		if p > 0 {
			t.beta, t.d = 1, t.c
		}
		x.run()
	}
	if q.rounds() {
		for r := range x.m {
			row := sums[r*x.n:][:x.n]
			if q.rows != nil {
				q.rows.row(q.row+i+r, q.column+j, row, sums[x.m*x.n:][:2*x.n])
				continue
			}
			roundBFloat16(x.kernels.vectors(), bfloats(q.c[(i+r)*q.ldc+j:][:x.n]), row)
		}
	}
}

// readOld widens the old content of a bfloat16 C into sums, if the product reads it.
func (q *pairProduct[C]) readOld(x *block[float32], sums []float32, i, j int) {
	if q.beta == 0 {
		return
	}
	for r := range x.m {
		widenBFloat16(x.kernels.vectors(), sums[r*x.n:(r+1)*x.n], bfloats(q.c[(i+r)*q.ldc+j:][:x.n]))
	}
}

// finished calls the epilogue for a block of C.
func (q *pairProduct[C]) finished(i, j, m, n int) {
	if q.epilogue != nil {
		q.epilogue.Block(q.row+i, q.column+j, m, n)
	}
}

// scale computes C = beta C.
func (q *pairProduct[C]) scale() {
	for i := range q.m {
		row := q.c[i*q.ldc : i*q.ldc+q.n]
		switch {
		case q.beta == 0:
			clear(row)
		case q.rounds():
			for j, x := range bfloats(row) {
				bfloats(row)[j] = toBFloat16(q.beta * x.Float32())
			}
		default:
			for j := range row {
				floats(row)[j] *= q.beta
			}
		}
	}
}
