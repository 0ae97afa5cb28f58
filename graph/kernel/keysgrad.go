package kernel

// KeysGrad computes the gradient of the keys of a Read or a Write: for tokens t with
// matrices X_t [dk, dv] and y_t [r, dv] (the gradient of what was read, or what was
// written with X the gradient of the stream),
//
//	dkeys = sum_t y_t X_t^T
//
// The tokens are summed by treeSums, so the bits do not depend on the thread count.
type KeysGrad[T Float] struct {
	task keysGradTask[T]
	path path
}

// Run computes dkeys [r, dk] from y [tokens, r, dv] and x [tokens, dk, dv], all dense
// and row-major; accumulate adds to what dkeys holds. dkeys must not overlap the others.
// Like an index out of range, a slice that is too short panics.
func (k *KeysGrad[T]) Run(p *Pool, dkeys, y, x []T, tokens, r, dk, dv int, accumulate bool) {
	dkeys = dkeys[:r*dk]
	if tokens == 0 || len(dkeys) == 0 || dv == 0 {
		if !accumulate {
			clear(dkeys)
		}
		return
	}
	t := &k.task
	t.set(p, k.path, y[:tokens*r*dv], x[:tokens*dk*dv], r, dk, dv)
	t.tokens = pieces{tokens, pieceTokens}
	p.Do(t.tokens.number(), t)
	t.collect(p, dkeys, accumulate)
}

// set readies the task for a run.
func (t *keysGradTask[T]) set(p *Pool, path path, y, x []T, r, dk, dv int) {
	t.block = newKeysBlock[T](path, r, dk, dv)
	t.y, t.x = y, x
	t.transposed = growKept(t.transposed, p.Threads())
	t.sums.set(p, pathOf[T](path), r*dk)
}

// newKeysBlock is dkeys [r, dk] (+)= y [r, dv] X^T with X^T [dv, dk] in place.
func newKeysBlock[T Float](path path, r, dk, dv int) block[T] {
	b := block[T]{
		kernels: kernelsOf[T](path),
		tile:    tile[T]{k: dv, as: dv, bs: dk, cs: dk, alpha: 1},
		m:       r,
		n:       dk,
	}
	b.panel = b.kernels.width()
	return b
}

// collect stores the sum in dkeys and forgets the arguments.
func (t *keysGradTask[T]) collect(p *Pool, dkeys []T, accumulate bool) {
	t.sums.store(p, dkeys, accumulate)
	t.block, t.y, t.x = block[T]{}, nil, nil
}

// keysGradTask is a KeysGrad split over pieces of the tokens.
type keysGradTask[T Float] struct {
	block      block[T]
	y, x       []T
	tokens     pieces
	transposed [][]T // X_t^T [dv, dk], one a worker
	sums       treeSums[T]
}

func (t *keysGradTask[T]) Part(worker, lo, hi int) {
	sum := t.begin(worker)
	for piece := lo; piece < hi; piece++ {
		first, end := t.tokens.items(piece)
		t.add(worker, sum.block, first, end)
		sum.end(piece)
	}
}

// begin returns a worker's sum.
func (t *keysGradTask[T]) begin(worker int) *treeSum[T] {
	t.transposed[worker] = grow(t.transposed[worker], t.block.tile.k*t.block.n)
	return t.sums.begin(worker)
}

// add adds the tokens [lo, hi) to sum.
func (t *keysGradTask[T]) add(worker int, sum []T, lo, hi int) {
	b, x := t.block, t.transposed[worker]
	r, dk, dv := b.m, b.n, b.tile.k
	b.tile.b, b.tile.c, b.tile.d, b.tile.beta = &x[0], &sum[0], &sum[0], 1
	ahead := tokensAhead[T](dk * dv)
	for i := lo; i < hi; i++ {
		prefetchToken(t.x, i+ahead, dk*dv)
		prefetchToken(t.y, i+ahead, r*dv)
		transpose(b.kernels.path, x, dk, t.x[i*dk*dv:(i+1)*dk*dv], dv, dk, dv)
		b.tile.a = &t.y[i*r*dv]
		b.run()
	}
}
