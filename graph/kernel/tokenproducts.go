package kernel

// tokenProducts is a product a token, out_t = op(a_t) b_t + addend_t, split over tokens.
type tokenProducts[T Float] struct {
	block          block[T]
	out, addend, b []T
	a, shared      []T   // a of each token, or one of all
	early          []T   // what is as large as out and loaded early, or nil
	stream         int   // elements of a token of which the size says how early
	turn           bool  // b_t is stored [n, k] and is turned first
	workers        [][]T // each one's b_t, turned
}

func (t *tokenProducts[T]) Part(worker, lo, hi int) {
	x := t.block
	sizeA, sizeB, sizeC := x.m*x.tile.k, x.tile.k*x.n, x.m*x.n
	ahead := tokensAhead[T](t.stream)
	for i := lo; i < hi; i++ {
		prefetchSmallToken(t.a, i+ahead, sizeA)
		prefetchSmallToken(t.b, i+ahead, sizeB)
		prefetchSmallToken(t.early, i+ahead, sizeC)
		a, b := t.shared, rowOf(t.b, i, sizeB)
		if a == nil {
			a = rowOf(t.a, i, sizeA)
		}
		if t.turn {
			transpose(x.kernels.path, t.workers[worker], x.n, b, x.tile.k, x.n, x.tile.k)
			b = t.workers[worker]
		}
		x.multiply(rowOf(t.out, i, sizeC), a, b, rowOf(t.addend, i, sizeC))
	}
}
