package kernel

import "unsafe"

// GemmBFloat16 computes C = alpha * op(A) op(B) + beta * C with A and B of bfloat16 and sums in float32, in
// parallel over a Pool. C is float32, or bfloat16, rounded once, at the end (its old content is read as
// float32 where beta is not 0).
//
// Every processor gives the same bits, with any number of threads: sums over k are cut where k alone
// says, and added in the order of the instruction VDPBF16PS, which takes denormals in A and B, and in
// a sum of products, as zero (bfloat16_tile.go). Processors that lack AVX512_BF16 need about as long as for
// float32, those without AVX2 many times as long.
type GemmBFloat16[C Stored] struct {
	// Epilogue, where not nil, is told of each block of C as soon as it is final, while
	// it is in cache.
	Epilogue Epilogue

	task   pairTask[C]
	packer packer
	own    arena // for calls without a Pool, which has its own
	ownB   arena
	path   path
}

// Stored is what a product of bfloat16 is stored as.
type Stored interface{ float32 | BFloat16 }

// Run, also without a Pool, computes C = alpha * op(A) op(B) + beta * C with op(A) [m, k], op(B) [k, n] and
// C [m, n]; its arguments are those of Gemm.Run.
func (g *GemmBFloat16[C]) Run(p *Pool, ta, tb bool, m, n, k int, alpha float32, a []BFloat16, lda int, b []BFloat16, ldb int, beta float32, c []C, ldc int) {
	t := g.prepare(p, pairProduct[C]{ta: ta, m: m, n: n, k: k, alpha: alpha, a: a, lda: lda, beta: beta, c: c, ldc: ldc})
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		t.run(PackedBFloat16{})
		return
	}
	checkMatrix(b, choose(tb, n, k), choose(tb, k, n), ldb)
	g.packer = packer{kernels: t.kernels, pool: p, source: source{rows: b, ld: ldb, transposed: tb}, k: k}
	step := evenly(n, max(sharedPairs/k, fewestColumns), t.kernels.width())
	for j := 0; j < n; j += step {
		columns := min(step, n-j)
		packed := g.packer.run(p.common(&g.ownB), j, columns)
		t.pairProduct = t.whole.part(0, m, j, j+columns)
		t.run(packed)
	}
}

// RunPacked is Run with an op(B) that has been packed before: Pack's. It has the same bits.
func (g *GemmBFloat16[C]) RunPacked(p *Pool, ta bool, m int, alpha float32, a []BFloat16, lda int, b PackedBFloat16, beta float32, c []C, ldc int) {
	t := g.prepare(p, pairProduct[C]{ta: ta, m: m, n: b.n, k: b.k, alpha: alpha, a: a, lda: lda, beta: beta, c: c, ldc: ldc})
	if b.kernels != nil {
		t.kernels = b.kernels
	}
	if m > 0 && b.n > 0 {
		t.run(b)
	}
}

// prepare sets the task of the whole product.
func (g *GemmBFloat16[C]) prepare(p *Pool, q pairProduct[C]) *pairTask[C] {
	t := &g.task
	q.epilogue = g.Epilogue
	q.check()
	t.whole, t.pairProduct = q, q
	t.kernels, t.pool, t.own = pairKernelsOf(g.path), p, &g.own
	return t
}

const (
	sharedPairs   = 4 << 20 // elements of B that are packed at a time, for all threads (8 MiB)
	fewestColumns = 512     // columns of B that are packed at a time at least
)

// pairProduct is C = alpha op(A) B + beta C on one goroutine, for a B that is packed.
type pairProduct[C Stored] struct {
	ta          bool
	m, n, k     int
	alpha, beta float32
	a           []BFloat16
	lda         int
	gatherA     gather
	c           []C
	ldc         int

	epilogue    Epilogue
	row, column int // of C's first element in the whole product
}

// check panics unless the matrices lie within their slices, as product.check does.
func (q *pairProduct[C]) check() {
	if q.m < 0 || q.n < 0 || q.k < 0 {
		panic("kernel: negative matrix size")
	}
	if q.m == 0 || q.n == 0 {
		return
	}
	checkMatrix(q.c, q.m, q.n, q.ldc)
	if q.k > 0 {
		checkMatrix(q.a, choose(q.ta, q.k, q.m), choose(q.ta, q.m, q.k), q.lda)
	}
}

// part is the product restricted to the rows [i0, i1) and columns [j0, j1) of C, of which there is at
// least one each.
func (q *pairProduct[C]) part(i0, i1, j0, j1 int) pairProduct[C] {
	r := *q
	r.m, r.n = i1-i0, j1-j0
	if q.k > 0 {
		r.a = q.a[choose(q.ta, i0, i0*q.lda):]
	}
	r.c = q.c[i0*q.ldc+j0:]
	r.row, r.column = q.row+i0, q.column+j0
	return r
}

// pairTask splits a product over a Pool, as gemmTask does.
type pairTask[C Stored] struct {
	pairProduct[C]
	whole    pairProduct[C] // of which pairProduct is some columns
	packed   PackedBFloat16
	kernels  *microkernels
	pool     *Pool
	own      *arena
	division division
}

// run computes the product with a packed B.
func (t *pairTask[C]) run(b PackedBFloat16) {
	t.packed = b
	size := product[float32]{m: t.m, n: t.n, k: t.k}
	t.division = size.divide(t.pool.Threads(), t.kernels)
	t.pool.Do(t.division.parts(), t)
}

// Part computes the parts [lo, hi) of the division.
func (t *pairTask[C]) Part(worker, lo, hi int) {
	width, d := t.kernels.width(), t.division
	panels := (t.n + width - 1) / width
	for part := lo; part < hi; part++ {
		row, column := part/d.columns, part%d.columns
		first, end := column*panels/d.columns*width, min(t.n, (column+1)*panels/d.columns*width)
		q := t.part(row*t.m/d.rows, (row+1)*t.m/d.rows, first, end)
		q.run(t.packed.Part(0, t.k, first, end), t.kernels, t.pool.arena(worker, t.own))
	}
}

// floats is s itself, where C is float32.
func floats[C Stored](s []C) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

// bfloats is s itself, where C is BFloat16.
func bfloats[C Stored](s []C) []BFloat16 {
	return unsafe.Slice((*BFloat16)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}
