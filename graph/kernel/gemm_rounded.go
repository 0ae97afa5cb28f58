package kernel

// roundedRows is the number of rows of A from which the workers share the rounding.
const roundedRows = 16

// roundedProduct computes a product of float32 with Weights as one of bfloat16: it rounds A, and
// sums in float32 (GemmBFloat16). Weights in int8 are rounded to bfloat16 some columns at a time.
type roundedProduct struct {
	gemm GemmBFloat16[float32]
	own  arena // used in calls without a Pool

	a    []BFloat16 // [m, k]
	from []float32  // A
	lda  int
	k    int
}

// runRounded computes q.
func runRounded[T Float](r *roundedProduct, p *Pool, q *product[T]) {
	memory := &r.own
	if p != nil {
		memory = &p.rounded
	}
	space, _ := carve[float32](memory, (q.m*q.k+1)/2, 0)
	r.a, r.from, r.lda, r.k = pairsOf(space)[:q.m*q.k], float32s(q.a), q.lda, q.k
	if q.m < roundedRows {
		r.Part(0, 0, q.m)
	} else {
		p.Do(q.m, r)
	}
	r.gemm.Epilogue, r.gemm.lower, r.gemm.addend = q.epilogue, q.lower, float32s(q.addend)
	if w := q.weights; w.pairs != nil {
		r.gemm.RunPacked(p, false, q.m, float32(q.alpha), r.a, q.k, w.packed, float32(q.beta), float32s(q.c), q.ldc)
	} else {
		r.gemm.runFrom(p, pairProduct[float32]{m: q.m, n: q.n, k: q.k, alpha: float32(q.alpha), a: r.a, lda: q.k, beta: float32(q.beta),
			c: float32s(q.c), ldc: q.ldc, epilogue: q.epilogue, lower: q.lower, addend: float32s(q.addend)}, source{weights: w})
	}
	r.a, r.from, r.gemm.Epilogue, r.gemm.addend = nil, nil, nil, nil
}

// Part rounds the rows [lo, hi) of A.
func (r *roundedProduct) Part(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		RoundBFloat16(r.a[i*r.k:][:r.k], r.from[i*r.lda:][:r.k])
	}
}
