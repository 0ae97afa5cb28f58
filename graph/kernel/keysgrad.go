package kernel

// KeysGrad computes the gradient of the keys of a Read or a Write: for tokens t with
// matrices X_t [dk, dv] and y_t [r, dv] (the gradient of what was read, or what was
// written with X the gradient of the stream),
//
//	dkeys = sum_t y_t X_t^T
//
// Each worker sums its own tokens and the workers' sums are added in their order, so
// the bits depend on the thread count alone.
type KeysGrad[T Float] struct {
	task keysGradTask[T]
	path path
}

// keysGradTokens is the number of tokens that are summed before their sum is added to
// the worker's: a sum of many terms in one go would lose digits.
const keysGradTokens = 256

// Run computes dkeys [r, dk] from y [tokens, r, dv] and x [tokens, dk, dv], all dense
// and row-major; accumulate adds to what dkeys holds. dkeys must not overlap the others.
// Like an index out of range, a slice that is too short panics.
func (k *KeysGrad[T]) Run(p *Pool, dkeys, y, x []T, tokens, r, dk, dv int, accumulate bool) {
	dkeys = dkeys[:r*dk]
	if !accumulate {
		clear(dkeys)
	}
	if tokens == 0 || len(dkeys) == 0 || dv == 0 {
		return
	}
	t := &k.task
	t.set(k.path, y[:tokens*r*dv], x[:tokens*dk*dv], r, dk, dv, p.Threads())
	p.Do(tokens, t)
	t.collect(dkeys)
}

// set readies the task for a run.
func (t *keysGradTask[T]) set(path path, y, x []T, r, dk, dv, workers int) {
	t.block = newKeysBlock[T](path, r, dk, dv)
	t.y, t.x = y, x
	t.workers = grow(t.workers, workers)
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

// collect adds the workers' sums to dkeys in their order and forgets the arguments.
func (t *keysGradTask[T]) collect(dkeys []T) {
	for w := range t.workers {
		for i, v := range t.workers[w].total {
			dkeys[i] += v
		}
	}
	t.block, t.y, t.x = block[T]{}, nil, nil
}

// keysGradTask is a KeysGrad split over tokens.
type keysGradTask[T Float] struct {
	block   block[T]
	y, x    []T
	workers []keysGradSums[T]
}

// keysGradSums is what one worker sums.
type keysGradSums[T Float] struct {
	total  []T // all tokens, [r, dk]
	recent []T // the latest tokens, [r, dk]
	x      []T // X_t^T, [dv, dk]
	_      [cacheLine]byte
}

func (t *keysGradTask[T]) Part(worker, lo, hi int) {
	t.begin(worker)
	t.add(worker, lo, hi)
}

// begin makes a worker's sums zero.
func (t *keysGradTask[T]) begin(worker int) {
	sums := &t.workers[worker]
	r, dk, dv := t.block.m, t.block.n, t.block.tile.k
	sums.total, sums.recent, sums.x = grow(sums.total, r*dk), grow(sums.recent, r*dk), grow(sums.x, dv*dk)
	clear(sums.total)
}

// add adds the tokens [lo, hi) to a worker's sums.
func (t *keysGradTask[T]) add(worker, lo, hi int) {
	b, sums := t.block, &t.workers[worker]
	r, dk, dv := b.m, b.n, b.tile.k
	b.tile.b, b.tile.c, b.tile.d = &sums.x[0], &sums.recent[0], &sums.recent[0]
	ahead := tokensAhead[T](dk * dv)
	for i := lo; i < hi; i++ {
		prefetchToken(t.x, i+ahead, dk*dv)
		prefetchToken(t.y, i+ahead, r*dv)
		transpose(b.kernels.path, sums.x, dk, t.x[i*dk*dv:(i+1)*dk*dv], dv, dk, dv)
		b.tile.a = &t.y[i*r*dv]
		b.run()
		b.tile.beta = 1
		if (i-lo)%keysGradTokens == keysGradTokens-1 || i == hi-1 {
			for j, v := range sums.recent {
				sums.total[j] += v
			}
			b.tile.beta = 0
		}
	}
}
