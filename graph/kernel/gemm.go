package kernel

// Gemm computes C = alpha * op(A) op(B) + beta * C, row-major, in parallel over a Pool. float32
// runs on AVX-512 or AVX2 micro-kernels if the processor has them. For given sizes, the bits depend
// only on the processor's micro-kernels.
type Gemm[T Float] struct {
	// Epilogue, if not nil, is called for each block of C as soon as it is final, while it is in
	// cache.
	Epilogue Epilogue
	// Weights, if not nil, holds op(B) and replaces Run's tb, b and ldb, for float32 products whose
	// A is not transposed.
	Weights *Weights

	// lower says that only the entries on or below the diagonal of a square C are needed: the
	// others may be computed or not.
	lower bool
	// addend, if not nil, is what beta multiplies instead of C's old content; its rows are the same
	// distance apart.
	addend []T

	task    gemmTask[T]
	rounded roundedProduct // for Weights that a product of bfloat16 reads
	own     arena          // used in calls without a Pool, which has its own
	path    path
}

// Run computes C = alpha * op(A) op(B) + beta * C with op(A) [m, k], op(B) [k, n] and C [m, n]. p
// may be nil. ta (tb) says that a (b) holds the transpose: A^T as [k, m] (B^T as [n, k]). lda, ldb,
// ldc are the distances between the stored rows. With beta == 0 C's old content is not read (NaN in
// it does not spread). With k == 0 the result is beta * C. C must not overlap A or B. Run panics if
// a slice is too short for its matrix, as an index out of range does.
func (g *Gemm[T]) Run(p *Pool, ta, tb bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	t := &g.task
	t.product = product[T]{ta: ta, tb: tb, m: m, n: n, k: k, alpha: alpha, a: a, lda: lda, b: b, ldb: ldb, beta: beta, c: c, ldc: ldc,
		epilogue: g.Epilogue, weights: g.Weights, lower: g.lower, addend: g.addend}
	if g.Weights != nil {
		t.tb, t.b = false, nil
	}
	t.product.check()
	if g.Weights != nil && g.Weights.rounds(g.path, m) {
		g.rounded.gemm.path = g.path
		runRounded(&g.rounded, p, &t.product)
		return
	}
	t.run(p, kernelsOf[T](g.path), &g.own)
}

// Epilogue is called for blocks of a product's C after the last addition. The blocks cover each
// element of C once; the workers call it concurrently.
type Epilogue interface {
	// Block is called for the rows [i, i+m) and columns [j, j+n) of C.
	Block(i, j, m, n int)
}

// taskOfBlocks is an Epilogue that runs a task over the elements of C [rows, width] in each row of
// a block.
type taskOfBlocks struct {
	task  Task
	width int
}

// of sets the task to run and returns b.
func (b *taskOfBlocks) of(task Task, width int) *taskOfBlocks {
	b.task, b.width = task, width
	return b
}

// Block implements Epilogue.
func (b *taskOfBlocks) Block(i, j, m, n int) {
	for first := i*b.width + j; m > 0; first, m = first+b.width, m-1 {
		b.task.Part(0, first, first+n)
	}
}
