package kernel

// TokenKeysParams are the sizes of a TokenKeys.
type TokenKeysParams struct {
	Tokens int // T, may be 0
	M      int // key vectors of a token, the columns of C_t
	Dk, Dv int // the matrix stream of a token is Dk x Dv
}

// TokenKeys reads and writes a stream of matrices with key vectors that each token has for
// itself. For token t with X_t [Dk, Dv], keys C_t [Dk, M] and y_t [M, Dv],
//
//	Read:  y_t = C_t^T X_t
//	Write: X'_t = X_t + C_t y_t
//	Grad:  dC_t = X_t y_t^T
//
// Grad is the gradient of the keys of a Read of X with y the gradient of what was read, and of
// a Write of y with X the gradient of the stream. Tokens are split over the Pool; each is summed
// by itself, in the order of Read and Write with shared keys, so that the bits depend on neither.
// All arrays are dense and row-major. Like an index out of range, a slice that is too short panics.
type TokenKeys[T Float] struct {
	task tokenKeysTask[T]
	path path
}

// Read computes y [tokens, M, Dv] from c [tokens, Dk, M] and x [tokens, Dk, Dv]. y must not overlap
// the others.
func (k *TokenKeys[T]) Read(p *Pool, y, c, x []T, d TokenKeysParams) {
	k.run(p, tokenKeysTask[T]{out: y, a: c, b: x, d: d,
		block: block[T]{m: d.M, n: d.Dv, transposed: true, tile: tile[T]{k: d.Dk, as: d.M}}})
}

// Write computes out [tokens, Dk, Dv] from x of the same shape, or nil for none, c [tokens, Dk, M] and
// y [tokens, M, Dv]. out may be x, but must not overlap the others.
func (k *TokenKeys[T]) Write(p *Pool, out, x, c, y []T, d TokenKeysParams) {
	k.run(p, tokenKeysTask[T]{out: out, addend: x, a: c, b: y, d: d,
		block: block[T]{m: d.Dk, n: d.Dv, tile: tile[T]{k: d.M, as: d.M}}})
}

// Grad computes dc [tokens, Dk, M] from x [tokens, Dk, Dv] and y [tokens, M, Dv]. dc must not overlap
// the others.
func (k *TokenKeys[T]) Grad(p *Pool, dc, x, y []T, d TokenKeysParams) {
	k.run(p, tokenKeysTask[T]{out: dc, a: x, b: y, d: d, turn: true,
		block: block[T]{m: d.Dk, n: d.M, tile: tile[T]{k: d.Dv, as: d.Dv}}})
}

func (k *TokenKeys[T]) run(p *Pool, t tokenKeysTask[T]) {
	b := &t.block
	b.kernels = kernelsOf[T](k.path)
	b.panel = b.kernels.width()
	b.tile.bs, b.tile.cs, b.tile.alpha = b.n, b.n, 1
	if t.addend != nil {
		b.tile.beta = 1
	}
	t.workers = grow(k.task.workers, p.Threads())
	k.task = t
	p.Do(t.d.Tokens, &k.task)
	k.task = tokenKeysTask[T]{workers: t.workers} // keeps no operand alive
}

// tokenKeysTask is a product a token, out_t = op(a_t) b_t + addend_t, split over tokens.
type tokenKeysTask[T Float] struct {
	block             block[T]
	out, addend, a, b []T
	turn              bool // b_t is stored [n, k] and is turned first
	d                 TokenKeysParams
	workers           [][]T // each one's b_t, turned
}

func (t *tokenKeysTask[T]) Part(worker, lo, hi int) {
	x, d := t.block, t.d
	sizeA, sizeB, sizeC := x.m*x.tile.k, x.tile.k*x.n, x.m*x.n
	if t.turn {
		t.workers[worker] = grow(t.workers[worker], sizeB)
		x.tile.b = &t.workers[worker][0]
	}
	ahead := tokensAhead[T](d.Dk * d.Dv)
	for i := lo; i < hi; i++ {
		prefetchSmallToken(t.a, i+ahead, sizeA)
		prefetchSmallToken(t.b, i+ahead, sizeB)
		b := t.b[i*sizeB : (i+1)*sizeB]
		if t.turn {
			transpose(x.kernels.path, t.workers[worker], x.n, b, x.tile.k, x.n, x.tile.k)
		} else {
			x.tile.b = &b[0]
		}
		x.tile.a, x.tile.c = &t.a[i*sizeA], &t.out[i*sizeC : (i+1)*sizeC][0]
		x.tile.d = x.tile.c
		if t.addend != nil {
			x.tile.d = &t.addend[i*sizeC]
		}
		x.run()
	}
}
