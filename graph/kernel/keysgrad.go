package kernel

// KeysGrad computes the gradient of the keys of a Read or a Write: for tokens t with matrices
// X_t [dk, dv] and y_t [r, dv] (for a Read, y is the gradient of what was read; for a Write, y
// is what was written and X the gradient of the stream),
//
//	dkeys = sum_t y_t X_t^T
//
// treeSums sums over the tokens, so the bits do not depend on the number of threads.
type KeysGrad[T Float] struct{ both WriteGrad[T] }

// Run computes dkeys [r, dk] from y [tokens, r, dv] and x [tokens, dk, dv], all dense and
// row-major; accumulate adds to what dkeys holds. dkeys must not overlap the others. Run panics if
// a slice is too short, as an index out of range does.
func (k *KeysGrad[T]) Run(p *Pool, dkeys []T, y, x Rows[T], tokens, r, dk, dv int, accumulate bool) {
	k.both.Run(p, Rows[T]{}, dkeys, x, nil, y, tokens, r, dk, dv, accumulate)
}
