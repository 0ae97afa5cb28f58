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
	t.read = tokenProducts[T]{block: newBlock[T](k.path, r, dv, dk, false), rooms: t.read.rooms, out: dy, b: g, stream: dk * dv}
	if !dy.none() {
		t.read.out, t.read.shared = dy.first(tokens*r*dv), keys[:r*dk]
		t.read.ready(p)
	}
	t.y, t.g = y, g
	if dkeys != nil {
		t.y, dkeys = y.first(tokens*r*dv), dkeys[:r*dk]
	}
	t.tokens = pieces{tokens, pieceTokens}
	t.keys.want(p, pathOf[T](k.path), dkeys, accumulate, r, dk, dv)
	t.rooms.ready(p, t.keys.atOnce*(r+dk)*dv, y, g)
	p.Do(t.tokens.number(), t)
	t.keys.store(p)
}

// writeGradTask is a WriteGrad divided into pieces of the tokens.
type writeGradTask[T Float] struct {
	read   tokenProducts[T]
	keys   keyProducts[T] // y G^T
	y, g   Rows[T]
	rooms  rooms[T] // for the tokens of y and g of a call
	tokens pieces
}

func (t *writeGradTask[T]) Part(worker, lo, hi int) {
	sum := t.keys.begin(worker)
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
	path := t.read.block.kernels.path
	_, sizeG, sizeY := t.read.sizes()
	atOnce := t.keys.atOnce
	roomY, roomG := t.rooms.part(worker, 0, atOnce*sizeY), t.rooms.part(worker, atOnce*sizeY, atOnce*sizeG)
	ahead := t.g.tokensAhead(sizeG)
	for i := lo; i < hi; i += atOnce {
		n := min(atOnce, hi-i)
		t.g.prefetchTokens(i+ahead, n, sizeG)
		t.y.prefetchTokens(i+ahead, n, sizeY)
		t.keys.add(worker, n, sum, t.y.read(path, roomY, i*sizeY, n*sizeY), t.g.read(path, roomG, i*sizeG, n*sizeG))
	}
}
