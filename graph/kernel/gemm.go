package kernel

// Gemm computes C = alpha * op(A) op(B) + beta * C, row-major, in parallel over a Pool.
// float32 runs on AVX-512 or AVX2 micro-kernels where the processor has them. For given
// sizes the bits depend on the processor's micro-kernels alone.
type Gemm[T Float] struct {
	// Epilogue, where not nil, is told of each block of C as soon as it is final, while
	// it is in cache.
	Epilogue Epilogue
	// Weights, where not nil, are op(B) of float32 products whose A is not transposed, in the place of Run's tb, b and ldb.
	Weights *Weights

	// lower says that of a square C only what lies on or below the diagonal is wanted: the rest may be computed or stay as it is.
	lower bool
	// addend, where not nil, is what beta multiplies instead of C's old content, with rows at the same distance.
	addend []T

	task gemmTask[T]
	own  arena // for calls without a Pool, which has its own
	path path
}

// Run, also without a Pool, computes C = alpha * op(A) op(B) + beta * C with op(A) [m, k], op(B) [k, n] and
// C [m, n]. ta (tb) says that a (b) holds the transpose: A^T as [k, m] (B^T as [n, k]).
// lda, ldb, ldc are the distances between the stored rows. beta == 0 means that C's
// old content is not read (NaN in it does not spread). k == 0 gives beta * C. C must
// not overlap A or B. Like an index out of range, a slice too short for its matrix
// panics.
func (g *Gemm[T]) Run(p *Pool, ta, tb bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	t := &g.task
	t.product = product[T]{ta: ta, tb: tb, m: m, n: n, k: k, alpha: alpha, a: a, lda: lda, b: b, ldb: ldb, beta: beta, c: c, ldc: ldc, epilogue: g.Epilogue, weights: g.Weights, lower: g.lower, addend: g.addend}
	if g.Weights != nil {
		t.tb, t.b = false, nil
	}
	t.product.check()
	t.run(p, kernelsOf[T](g.path), &g.own)
}

// Epilogue is what happens to a product's C after the last addition. Blocks cover C, each
// element once; they come from all workers, several at a time.
type Epilogue interface {
	// Block is called for the rows [i, i+m) and columns [j, j+n) of C.
	Block(i, j, m, n int)
}

// taskOfBlocks is an Epilogue that runs a task over the elements of C [rows, width], on each row of a block.
type taskOfBlocks struct {
	task  Task
	width int
}

// of sets what is run and returns b.
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
