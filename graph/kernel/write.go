package kernel

// Write adds what a sublayer writes to a stream of matrices (Mak & Flanigan 2025,
// eq. 20 and 23): for each token t, with X_t the token's matrix,
//
//	out_t = X_t + keys^T y_t
//
// a sum of outer products of the write keys (the rows of keys) with the rows of y_t. The workers of
// the Pool share the tokens; each token is summed separately, so the bits do not depend on the
// number of threads.
type Write[T Float] struct {
	task tokenProducts[T]
	path path
}

// Run computes out [tokens, dk, dv] from x of the same shape, keys [r, dk] and y [tokens, r, dv],
// all dense and row-major. x may be nil, for an empty stream, and may be out itself; otherwise out
// must not overlap the others. Run panics if a slice is too short, as an index out of range does.
func (k *Write[T]) Run(p *Pool, out, x Rows[T], keys []T, y Rows[T], tokens, r, dk, dv int) {
	n := tokens * dk * dv
	out, x = out.first(n), x.first(n)
	early := x
	if x.none() {
		early = out
	}
	k.task = tokenProducts[T]{block: newBlock[T](k.path, dk, dv, r, true), rooms: k.task.rooms, out: out, addend: x, shared: keys[:r*dk],
		b: y.first(tokens * r * dv), early: early, stream: dk * dv}
	k.task.ready(p)
	p.Do(tokens, &k.task)
}
