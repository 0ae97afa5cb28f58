package kernel

// WriteGrad computes both gradients of a Write in one pass over the gradient G of the
// stream it made: for tokens t with G_t [dk, dv] and y_t [r, dv],
//
//	dy_t = keys G_t;   dkeys = sum_t y_t G_t^T
//
// It does what Read and KeysGrad do, on a piece of the tokens at a time, so that G is read from
// memory once.
type WriteGrad[T Float] struct {
	task writeGradTask[T]
	path path
}

// Run computes dy [tokens, r, dv] and dkeys [r, dk] from g [tokens, dk, dv], keys [r, dk] and y
// [tokens, r, dv], all dense and row-major; accumulate adds to what dkeys holds. Either of dy and
// dkeys may be nil if it is not wanted. They must not overlap the others. Run panics if a slice is
// too short, as an index out of range does.
func (k *WriteGrad[T]) Run(p *Pool, dy Rows[T], dkeys []T, g Rows[T], keys []T, y Rows[T], tokens, r, dk, dv int, accumulate bool) {
	t := &k.task
	g = g.first(tokens * dk * dv)
	rooms := t.read.rooms
	t.read = tokenProducts[T]{block: newBlock[T](k.path, r, dv, dk, false), out: dy, shared: keys, b: g, stream: dk * dv}
	if !dy.none() {
		t.read.out, t.read.shared = dy.first(tokens*r*dv), keys[:r*dk]
	}
	t.read.ready(p, rooms)
	t.rooms.ready(p, r*dv, y)
	t.keys = newBlock[T](k.path, r, dk, dv, false)
	t.y, t.g = y, g
	if dkeys != nil {
		t.y, dkeys = y.first(tokens*r*dv), dkeys[:r*dk]
	}
	t.transposed = growRows(t.transposed, p, dk*dv)
	t.tokens = pieces{tokens, pieceTokens}
	t.sums.want(p, pathOf[T](k.path), dkeys, accumulate)
	p.Do(t.tokens.number(), t)
	t.sums.store(p)
}

// writeGradTask is a WriteGrad divided into pieces of the tokens.
type writeGradTask[T Float] struct {
	read       tokenProducts[T]
	keys       block[T] // dkeys [r, dk] += y [r, dv] G^T; G^T [dv, dk] is read in place
	y, g       Rows[T]
	rooms      rooms[T] // for a token of y
	tokens     pieces
	transposed [][]T // G_t^T [dv, dk] for each worker
	sums       treeSums[T]
}

func (t *writeGradTask[T]) Part(worker, lo, hi int) {
	sum := t.sums.begin(worker)
	t.tokens.each(lo, hi, func(first, end int) {
		if !t.read.out.none() {
			t.read.Part(worker, first, end)
		}
		if sum.block != nil {
			t.add(worker, sum.block, first, end) // G is in the second-level cache
		}
	}, sum)
}

// add adds the tokens [lo, hi) to sum.
func (t *writeGradTask[T]) add(worker int, sum []T, lo, hi int) {
	keys, path, turned := t.keys, t.keys.kernels.path, t.transposed[worker]
	r, dk, dv := keys.m, keys.n, keys.tile.k
	_, size, _ := t.read.sizes()
	roomG, roomY := t.read.rooms.part(worker, 0, size), t.rooms.part(worker, 0, r*dv)
	ahead := t.g.tokensAhead(dk * dv)
	for i := lo; i < hi; i++ {
		t.g.prefetchToken(i+ahead, dk*dv)
		t.y.prefetchToken(i+ahead, r*dv)
		transpose(path, turned, dk, t.g.read(path, roomG, i*dk*dv, dk*dv), dv, dk, dv)
		keys.multiply(sum, t.y.read(path, roomY, i*r*dv, r*dv), turned, sum)
	}
}
