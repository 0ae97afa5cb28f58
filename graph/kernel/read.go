package kernel

// Read computes what a sublayer reads from a stream of matrices (Mak & Flanigan 2025,
// eq. 22 and 25): for each token t, with X_t the token's matrix,
//
//	out_t = keys X_t
//
// The rows of keys are the read keys of all heads. The workers of the Pool share the tokens; each
// token is summed separately, so the bits do not depend on the number of threads.
type Read[T Float] struct {
	task tokenProducts[T]
	path path
}

// Run computes out [tokens, r, dv] from keys [r, dk] and x [tokens, dk, dv], all dense and
// row-major. out must not overlap the others. Run panics if a slice is too short, as an index out
// of range does.
func (k *Read[T]) Run(p *Pool, out Rows[T], keys []T, x Rows[T], tokens, r, dk, dv int) {
	k.task = tokenProducts[T]{block: newBlock[T](k.path, r, dv, dk, false), rooms: k.task.rooms, out: out.first(tokens * r * dv), shared: keys[:r*dk],
		b: x.first(tokens * dk * dv), stream: dk * dv}
	k.task.ready(p)
	p.Do(tokens, &k.task)
}
