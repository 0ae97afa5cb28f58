package kernel

// WriteGrad computes both gradients of a Write in one pass over the gradient G of the
// stream it made: for tokens t with G_t [dk, dv] and y_t [r, dv],
//
//	dy_t = keys G_t;   dkeys = sum_t y_t G_t^T
//
// It is Read and KeysGrad on a piece of the tokens at a time, so that G comes from memory once.
type WriteGrad[T Float] struct {
	task writeGradTask[T]
	read Read[T]
	path path
}

// Run computes dy [tokens, r, dv] and dkeys [r, dk] from g [tokens, dk, dv], keys [r, dk]
// and y [tokens, r, dv], all dense and row-major; accumulate adds to what dkeys holds; a
// nil dkeys is not wanted. dy and dkeys must not overlap the others. Like an index out of range, a slice that is
// too short panics.
func (k *WriteGrad[T]) Run(p *Pool, dy, dkeys, g, keys, y []T, tokens, r, dk, dv int, accumulate bool) {
	if dkeys == nil {
		k.read.path = k.path
		k.read.Run(p, dy, keys, g, tokens, r, dk, dv)
		return
	}
	dkeys = dkeys[:r*dk]
	if tokens == 0 || r == 0 || dk == 0 || dv == 0 {
		if !accumulate {
			clear(dkeys)
		}
		clear(dy[:tokens*r*dv])
		return
	}
	t := &k.task
	t.read = newReadTask(k.path, dy[:tokens*r*dv], keys[:r*dk], g[:tokens*dk*dv], r, dk, dv)
	t.keys.set(p, k.path, y[:tokens*r*dv], g[:tokens*dk*dv], r, dk, dv)
	t.keys.tokens = pieces{tokens, pieceTokens}
	p.Do(t.keys.tokens.number(), t)
	t.keys.collect(p, dkeys, accumulate)
	t.read = readTask[T]{} // keeps no operand alive
}

// writeGradTask is a WriteGrad split over pieces of the tokens.
type writeGradTask[T Float] struct {
	read readTask[T]
	keys keysGradTask[T]
}

func (t *writeGradTask[T]) Part(worker, lo, hi int) {
	sum := t.keys.begin(worker)
	for piece := lo; piece < hi; piece++ {
		first, end := t.keys.tokens.items(piece)
		t.read.Part(worker, first, end)
		t.keys.add(worker, sum.block, first, end) // G is in the level 2 cache
		sum.end(piece)
	}
}
