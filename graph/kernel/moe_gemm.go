package kernel

// expertGemm multiplies the rows of each expert by the expert's own matrix, with the float32
// micro-kernels of Gemm. Work is divided by rows, so that the workers have equal shares however
// uneven the experts are; an expert without rows costs nothing.
type expertGemm[T Float] struct {
	// Epilogue, if not nil, is called for each block of Rows' c as soon as it is final. The blocks
	// of a row come from one worker, in the order of their columns, if Whole is set or there are
	// many rows; a block has rows of only one expert.
	Epilogue Epilogue
	Whole    bool

	rows    expertRows[T]
	weights expertWeights[T]
	path    path
}

// Rows computes c_j = a_j W_e(j) for every row j of d, with c [rows, n], W [experts, k, n], or
// [experts, n, k] if transposed. a is [rows, k] or, if gathered, [tokens, k], where a_j belongs to
// the row's token. c must not overlap a or w.
func (g *expertGemm[T]) Rows(p *Pool, c, a, w []T, d Dispatch, n, k int, gathered, transposed bool) {
	t := &g.rows
	t.c, t.w, t.d, t.n, t.k = c[:d.Rows()*n], w[:d.Experts*n*k], d, n, k
	t.a = a[:choose(gathered, d.Tokens, d.Rows())*k]
	t.gathered, t.transposed, t.epilogue, t.pool = gathered, transposed, g.Epilogue, p
	t.kernels = kernelsOf[T](g.path)
	t.byColumns = !g.Whole && d.Rows() < directRows*p.Threads()
	items := d.Rows()
	if t.byColumns {
		items = (n + t.kernels.width() - 1) / t.kernels.width()
	}
	p.Do(items, t)
}

// expertRows is the task of Rows: a worker computes some of the rows or, if these are few, some
// panels of columns of all rows.
type expertRows[T Float] struct {
	c, a, w              []T
	d                    Dispatch
	n, k                 int
	gathered, transposed bool
	byColumns            bool
	epilogue             Epilogue
	kernels              *microkernels
	pool                 *Pool
	own                  arena
}

func (t *expertRows[T]) Part(worker, lo, hi int) {
	from, to := 0, t.n // columns
	if t.byColumns {
		from, to = lo*t.kernels.width(), min(t.n, hi*t.kernels.width())
		lo, hi = 0, t.d.Rows()
	}
	if from >= to {
		return
	}
	for e := range t.d.Experts {
		first, end := t.d.rows(e)
		first, end = max(first, lo), min(end, hi)
		if first < end {
			q := t.product(e, first, end, from, to)
			q.run(t.kernels, t.pool.arena(worker, &t.own))
		}
	}
}

// product returns the product of expert e's rows [first, end) and columns [from, to).
func (t *expertRows[T]) product(e, first, end, from, to int) product[T] {
	q := product[T]{
		tb: t.transposed, m: end - first, n: to - from, k: t.k, alpha: 1,
		lda: t.k,
		b:   t.w[e*t.n*t.k+choose(t.transposed, from*t.k, from):], ldb: choose(t.transposed, t.k, t.n),
		c: t.c[first*t.n+from:], ldc: t.n,
		epilogue: t.epilogue, row: first, column: from,
	}
	q.a, q.gatherA = operand(t.a, t.k, first, end, &t.d, t.gathered)
	return q
}

// Weights computes dw_e (+)= sum over the rows j of e of factor_j a_j^T b_j for every expert, with
// dw [experts, m, n]; a is [rows, m] and b [rows, n] or, if gathered, [tokens, m] and [tokens, n].
// If factors [rows] is nil, all are 1. accumulate adds to what dw holds. The sum of an expert
// without rows is 0.
func (g *expertGemm[T]) Weights(p *Pool, dw, a, b, factors []T, d Dispatch, m, n int, gatherA, gatherB, accumulate bool) {
	t := &g.weights
	t.dw, t.factors, t.d, t.m, t.n = dw[:d.Experts*m*n], factors, d, m, n
	t.a, t.b = a[:choose(gatherA, d.Tokens, d.Rows())*m], b[:choose(gatherB, d.Tokens, d.Rows())*n]
	t.gatherA, t.gatherB, t.accumulate, t.pool = gatherA, gatherB, accumulate, p
	t.kernels, t.threads = kernelsOf[T](g.path), p.Threads()
	p.Do(d.Rows(), t)
}

// expertWeights is the task of Weights. A worker's share of an expert's rows determines which part
// of the expert's matrix it computes, from all the rows: some rows of the matrix, or panels of
// columns, whichever the matrix has more of.
type expertWeights[T Float] struct {
	dw, a, b, factors []T
	d                 Dispatch
	m, n              int
	gatherA, gatherB  bool
	accumulate        bool
	kernels           *microkernels
	pool              *Pool
	threads           int
	own               arena
}

func (t *expertWeights[T]) Part(worker, lo, hi int) {
	for e := range t.d.Experts {
		first, end := t.d.rows(e)
		if first == end {
			if !t.accumulate && e%t.threads == worker {
				clear(rowOf(t.dw, e, t.m*t.n))
			}
			continue
		}
		from, to := max(first, lo), min(end, hi)
		if from >= to {
			continue
		}
		q := t.product(e, first, end)
		if i0, i1, j0, j1 := t.share(from-first, to-first, end-first); i0 < i1 && j0 < j1 {
			q = q.part(i0, i1, j0, j1)
			q.run(t.kernels, t.pool.arena(worker, &t.own))
		}
	}
}

// share returns the part of a matrix that corresponds to the part [from, to) of size: its rows [i0,
// i1) and columns [j0, j1).
func (t *expertWeights[T]) share(from, to, size int) (i0, i1, j0, j1 int) {
	if t.m >= t.n {
		return t.m * from / size, t.m * to / size, 0, t.n
	}
	width := t.kernels.width()
	panels := (t.n + width - 1) / width
	return 0, t.m, panels * from / size * width, min(t.n, panels*to/size*width)
}

// product returns the product for expert e, which has the rows [first, end).
func (t *expertWeights[T]) product(e, first, end int) product[T] {
	q := product[T]{ta: true, m: t.m, n: t.n, k: end - first, alpha: 1,
		lda: t.m, ldb: t.n, c: rowOf(t.dw, e, t.m*t.n), ldc: t.n}
	if t.accumulate {
		q.beta = 1
	}
	if t.factors != nil {
		q.factors = t.factors[first:end]
	}
	q.a, q.gatherA = operand(t.a, t.m, first, end, &t.d, t.gatherA)
	q.b, q.gatherB = operand(t.b, t.n, first, end, &t.d, t.gatherB)
	return q
}

// operand returns the rows [first, end) of x [.., width].
func operand[T any](x []T, width, first, end int, d *Dispatch, gathered bool) ([]T, gather) {
	if gathered {
		return x, gather{d.Order[first:end], d.K}
	}
	return x[first*width:], gather{}
}
