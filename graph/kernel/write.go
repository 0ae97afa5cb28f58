package kernel

// Write adds what a sublayer writes to a stream of matrices (Mak & Flanigan 2025,
// eq. 20 and 23): for each token t, with X_t the token's matrix,
//
//	out_t = X_t + keys^T y_t
//
// a sum of outer products of the write keys (the rows of keys) with the rows of y_t.
// Tokens are split over the Pool; each is summed by itself, so the bits do not depend
// on the thread count.
type Write[T Float] struct {
	task writeTask[T]
	path path
}

// Run computes out [tokens, dk, dv] from x of the same shape, keys [r, dk] and
// y [tokens, r, dv], all dense and row-major. x may be nil, for no X_t, and may be out
// itself; otherwise out must not overlap the others. Like an index out of range, a
// slice that is too short panics.
func (k *Write[T]) Run(p *Pool, out, x, keys, y []T, tokens, r, dk, dv int) {
	size := tokens * dk * dv
	if size == 0 {
		return
	}
	if r == 0 {
		writeNothing(out[:size], x)
		return
	}
	if x != nil {
		x = x[:size]
	}
	k.task = newWriteTask(k.path, out[:size], x, keys[:r*dk], y[:tokens*r*dv], r, dk, dv)
	p.Do(tokens, &k.task)
	k.task = writeTask[T]{} // keeps no operand alive
}

// newWriteTask is a Write of all tokens; x is nil for none.
func newWriteTask[T Float](path path, out, x, keys, y []T, r, dk, dv int) writeTask[T] {
	t := writeTask[T]{
		block: block[T]{
			kernels:    kernelsOf[T](path),
			tile:       tile[T]{a: &keys[0], k: r, as: dk, bs: dv, cs: dv, alpha: 1},
			m:          dk,
			n:          dv,
			transposed: true,
		},
		out: out,
		x:   out,
		y:   y,
	}
	t.block.panel = t.block.kernels.width()
	if x != nil {
		t.x, t.block.tile.beta = x, 1
	}
	return t
}

// writeNothing is a Write of no rows.
func writeNothing[T Float](out, x []T) {
	if x == nil {
		clear(out)
		return
	}
	copy(out, x[:len(out)])
}

// writeTask is a Write split over tokens.
type writeTask[T Float] struct {
	block     block[T]
	out, x, y []T
}

func (t *writeTask[T]) Part(_, lo, hi int) {
	b := t.block
	sizeX, sizeY := b.m*b.n, b.tile.k*b.n
	ahead := tokensAhead[T](sizeX)
	for i := lo; i < hi; i++ {
		prefetchSmallToken(t.x, i+ahead, sizeX)
		prefetchSmallToken(t.y, i+ahead, sizeY)
		b.tile.b = &t.y[i*sizeY]
		b.tile.c = &t.out[i*sizeX]
		b.tile.d = &t.x[i*sizeX]
		b.run()
	}
}
