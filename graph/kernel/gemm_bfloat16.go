package kernel

import "unsafe"

// GemmBFloat16 computes C = alpha * op(A) op(B) + beta * C with A and B of bfloat16 and sums in
// float32, in parallel over a Pool. C is float32, or bfloat16, rounded once, at the end (its old
// content is read as float32 where beta is not 0).
//
// Every processor without AMX gives the same bits, with any number of threads: the cuts of sums
// over k depend only on k, and the terms are added in the order of the instruction VDPBF16PS, which
// takes denormals in A and B, and in a sum of products, as zero (bfloat16_tile.go). Path amx has
// bits of its own, also with any number of threads and rows: its order of sums is sumTiles's. Only
// the bits of a NaN depend on the processor. Processors with AMX, and AMD's with AVX512_BF16, are
// faster than with float32; those without AVX2 take many times as long. With AMX, products use
// tiles even if A has a single row.
type GemmBFloat16[C Stored] struct {
	// Epilogue, if not nil, is called for each block of C as soon as it is final, while it is in
	// cache.
	Epilogue Epilogue

	lower  bool      // see Gemm.lower
	addend []float32 // see Gemm.addend; for a float32 C

	task      pairTask[C]
	packer    packer
	own, ownB arena // used in calls without a Pool, which has its own
	rows      rowsEpilogue
	path      path
}

// Stored is the element type in which a product of bfloat16 is stored.
type Stored interface{ float32 | BFloat16 }

// Run computes C = alpha * op(A) op(B) + beta * C with op(A) [m, k], op(B) [k, n] and C [m, n]. p
// may be nil; the arguments have the same meaning as in Gemm.Run.
func (g *GemmBFloat16[C]) Run(p *Pool, ta, tb bool, m, n, k int, alpha float32, a []BFloat16, lda int, b []BFloat16, ldb int, beta float32, c []C, ldc int) {
	if m > 0 && n > 0 && k > 0 {
		checkMatrix(b, choose(tb, n, k), choose(tb, k, n), ldb)
	}
	q := pairProduct[C]{ta: ta, m: m, n: n, k: k, alpha: alpha, a: a, lda: lda, beta: beta, c: c, ldc: ldc, epilogue: g.Epilogue, lower: g.lower,
		addend: g.addend, rows: g.rows}
	g.runFrom(p, q, source{rows: b, ld: ldb, transposed: tb})
}

// runFrom computes a product, packing op(B) some columns at a time.
func (g *GemmBFloat16[C]) runFrom(p *Pool, q pairProduct[C], b source) {
	q.check()
	if q.m == 0 || q.n == 0 {
		return
	}
	kernels := pairKernelsOf(g.path)
	if q.k == 0 {
		g.runPart(p, q, PackedBFloat16{kernels: kernels})
		return
	}
	g.packer.prepare(p, kernels, b, q.k)
	step := evenly(q.n, max(sharedPairs/q.k, fewestColumns), choose(b.weights != nil, weightsColumns, kernels.width()))
	for j := 0; j < q.n; j += step {
		end := min(q.n, j+step)
		g.runPart(p, q.part(0, q.m, j, end), g.packer.run(p.common(&g.ownB), j, end-j))
	}
}

// RunPacked computes what Run does, with the same bits, for an op(B) that Pack has packed.
func (g *GemmBFloat16[C]) RunPacked(p *Pool, ta bool, m int, alpha float32, a []BFloat16, lda int, b PackedBFloat16, beta float32, c []C, ldc int) {
	q := pairProduct[C]{ta: ta, m: m, n: b.n, k: b.k, alpha: alpha, a: a, lda: lda, beta: beta, c: c, ldc: ldc, epilogue: g.Epilogue, lower: g.lower,
		addend: g.addend, rows: g.rows}
	q.check()
	g.runPart(p, q, b)
}

// runPart computes a product with a packed B, divided among the workers of the Pool.
func (g *GemmBFloat16[C]) runPart(p *Pool, q pairProduct[C], b PackedBFloat16) {
	if q.m == 0 || q.n == 0 {
		return
	}
	t := &g.task
	t.pairProduct, t.packed, t.pool, t.own = q, b, p, &g.own
	size := product[float32]{m: q.m, n: q.n, k: q.k}
	t.division = size.divide(p.Threads(), b.kernels)
	p.Do(t.division.parts(), t)
	t.pool = nil
}

const (
	sharedPairs   = 4 << 20 // elements of B that are packed at a time, for all threads together (8 MiB)
	fewestColumns = 512     // smallest number of columns of B that are packed at a time
)

// pairProduct is C = alpha op(A) B + beta C on one goroutine, for a B that is packed.
type pairProduct[C Stored] struct {
	ta          bool
	m, n, k     int
	alpha, beta float32
	a           []BFloat16
	lda         int
	c           []C
	ldc         int

	lower       bool
	addend      []float32
	epilogue    Epilogue
	rows        rowsEpilogue // if not nil, stores a C of bfloat16
	row, column int          // position of C's first element in the whole product
}

// check panics unless the matrices fit into their slices, as product.check does.
func (q *pairProduct[C]) check() {
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
	if q.k > 0 {
		checkMatrix(q.a, choose(q.ta, q.k, q.m), choose(q.ta, q.m, q.k), q.lda)
	}
}

// part returns the product restricted to the rows [i0, i1) and columns [j0, j1) of C, at least one
// of each.
func (q *pairProduct[C]) part(i0, i1, j0, j1 int) pairProduct[C] {
	r := *q
	r.m, r.n = i1-i0, j1-j0
	switch {
	case q.k == 0:
	case q.ta:
		r.a = q.a[i0:]
	default:
		r.a = q.a[i0*q.lda:]
	}
	r.c = q.c[i0*q.ldc+j0:]
	if q.addend != nil {
		r.addend = q.addend[i0*q.ldc+j0:]
	}
	r.row, r.column = q.row+i0, q.column+j0
	return r
}

// pairTask splits a product among the workers of a Pool, as gemmTask does.
type pairTask[C Stored] struct {
	pairProduct[C]
	packed   PackedBFloat16
	pool     *Pool
	own      *arena
	division division
}

// Part computes the parts [lo, hi) of the division.
func (t *pairTask[C]) Part(worker, lo, hi int) {
	width, d := t.packed.kernels.width(), t.division
	panels := (t.n + width - 1) / width
	for part := lo; part < hi; part++ {
		row, column := part/d.columns, part%d.columns
		first, end := column*panels/d.columns*width, min(t.n, (column+1)*panels/d.columns*width)
		step := t.packed.kernels.rowStep()
		groups := (t.m + step - 1) / step
		q := t.part(row*groups/d.rows*step, min(t.m, (row+1)*groups/d.rows*step), first, end)
		q.run(t.packed.Part(0, t.k, first, end), t.pool.arena(worker, t.own))
	}
}

// floats returns s itself, for a C that is float32.
func floats[C Stored](s []C) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

// bfloats returns s itself, for a C that is BFloat16.
func bfloats[C Stored](s []C) []BFloat16 {
	return unsafe.Slice((*BFloat16)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}
