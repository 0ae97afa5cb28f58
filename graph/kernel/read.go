package kernel

// Read computes what a sublayer reads from a stream of matrices (Mak & Flanigan 2025,
// eq. 22 and 25): for each token t, with X_t the token's matrix,
//
//	out_t = keys X_t
//
// The rows of keys are the read keys of all heads. Tokens are split over the Pool; each
// is summed by itself, so the bits do not depend on the thread count.
type Read[T Float] struct {
	task readTask[T]
	path path
}

// Run computes out [tokens, r, dv] from keys [r, dk] and x [tokens, dk, dv], all dense
// and row-major. out must not overlap the others. Like an index out of range, a slice
// that is too short panics.
func (k *Read[T]) Run(p *Pool, out, keys, x []T, tokens, r, dk, dv int) {
	if tokens == 0 || r == 0 || dv == 0 {
		return
	}
	if dk == 0 {
		clear(out[:tokens*r*dv])
		return
	}
	k.task = newReadTask(k.path, out[:tokens*r*dv], keys[:r*dk], x[:tokens*dk*dv], r, dk, dv)
	p.Do(tokens, &k.task)
	k.task = readTask[T]{} // keeps no operand alive
}

func newReadTask[T Float](path path, out, keys, x []T, r, dk, dv int) readTask[T] {
	t := readTask[T]{
		block: block[T]{
			kernels: kernelsOf[T](path),
			tile:    tile[T]{a: &keys[0], k: dk, as: dk, bs: dv, cs: dv, alpha: 1},
			m:       r,
			n:       dv,
		},
		out: out,
		x:   x,
	}
	t.block.panel = t.block.kernels.width()
	return t
}

// readTask is a Read split over tokens.
type readTask[T Float] struct {
	block  block[T]
	out, x []T
}

func (t *readTask[T]) Part(_, lo, hi int) {
	b := t.block
	sizeX, sizeOut := b.tile.k*b.n, b.m*b.n
	ahead := tokensAhead[T](sizeX)
	for i := lo; i < hi; i++ {
		prefetchSmallToken(t.x, i+ahead, sizeX)
		b.tile.b = &t.x[i*sizeX]
		b.tile.c = &t.out[i*sizeOut]
		b.tile.d = b.tile.c
		b.run()
	}
}
