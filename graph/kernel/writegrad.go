package kernel

// WriteGrad computes both gradients of a Write in one pass over the gradient G of the
// stream it made: for tokens t with G_t [dk, dv] and y_t [r, dv],
//
//	dy_t = keys G_t;   dkeys = sum_t y_t G_t^T
//
// It is Read and KeysGrad on a few tokens at a time, so that G comes from memory once.
// The bits of dkeys depend on the thread count, those of dy do not.
type WriteGrad[T Float] struct {
	task writeGradTask[T]
	read Read[T]
	path path
}

// writeGradTokens is the number of tokens that are read before their keys' gradient is
// summed; their G stays in the level 2 cache meanwhile.
const writeGradTokens = 32

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
	if !accumulate {
		clear(dkeys)
	}
	if tokens == 0 || r == 0 || dk == 0 || dv == 0 {
		clear(dy[:tokens*r*dv])
		return
	}
	t := &k.task
	t.read = newReadTask(k.path, dy[:tokens*r*dv], keys[:r*dk], g[:tokens*dk*dv], r, dk, dv)
	t.keys.set(k.path, y[:tokens*r*dv], g[:tokens*dk*dv], r, dk, dv, p.Threads())
	p.Do(tokens, t)
	t.keys.collect(dkeys)
	t.read = readTask[T]{} // keeps no operand alive
}

// writeGradTask is a WriteGrad split over tokens.
type writeGradTask[T Float] struct {
	read readTask[T]
	keys keysGradTask[T]
}

func (t *writeGradTask[T]) Part(worker, lo, hi int) {
	t.keys.begin(worker)
	for first := lo; first < hi; first += writeGradTokens {
		last := min(first+writeGradTokens, hi)
		t.read.Part(worker, first, last)
		t.keys.add(worker, first, last)
	}
}
