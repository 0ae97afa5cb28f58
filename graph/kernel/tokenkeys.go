package kernel

// TokenKeysParams are the sizes of a TokenKeys.
type TokenKeysParams struct {
	Tokens int // T, may be 0
	M      int // number of key vectors of a token, the columns of C_t
	Dk, Dv int // the matrix stream of a token is Dk x Dv
}

// TokenKeys reads and writes a stream of matrices with separate key vectors for each token. For
// token t with X_t [Dk, Dv], keys C_t [Dk, M] and y_t [M, Dv],
//
//	Read:  y_t = C_t^T X_t
//	Write: X'_t = X_t + C_t y_t
//	Grad:  dC_t = X_t y_t^T
//
// Grad computes the gradient of the keys: of a Read of X, where y is the gradient of the result,
// and of a Write of y, where X is the gradient of the stream. The workers of the Pool share the
// tokens. Each token is summed separately, in the order in which the kernels Read and Write sum,
// whose keys all tokens share. So the bits depend neither on the number of threads nor on whether
// keys are shared. All arrays are dense and row-major. The methods panic if a slice is too short,
// as an index out of range does.
type TokenKeys[T Float] struct {
	task tokenProducts[T]
	path path
}

// Read computes y [tokens, M, Dv] from c [tokens, Dk, M] and x [tokens, Dk, Dv]. y must not overlap
// the others.
func (k *TokenKeys[T]) Read(p *Pool, y, c, x []T, d TokenKeysParams) {
	k.run(p, tokenProducts[T]{out: Of(y), a: Of(c), b: Of(x), block: newBlock[T](k.path, d.M, d.Dv, d.Dk, true)}, d)
}

// Write computes out [tokens, Dk, Dv] from x of the same shape, or nil for an empty stream, c
// [tokens, Dk, M] and y [tokens, M, Dv]. out may be x, but must not overlap the others.
func (k *TokenKeys[T]) Write(p *Pool, out, x, c, y []T, d TokenKeysParams) {
	k.run(p, tokenProducts[T]{out: Of(out), addend: Of(x), a: Of(c), b: Of(y), block: newBlock[T](k.path, d.Dk, d.Dv, d.M, false)}, d)
}

// Grad computes dc [tokens, Dk, M] from x [tokens, Dk, Dv] and y [tokens, M, Dv]. dc must not
// overlap the others.
func (k *TokenKeys[T]) Grad(p *Pool, dc, x, y []T, d TokenKeysParams) {
	k.run(p, tokenProducts[T]{out: Of(dc), a: Of(x), b: Of(y), turn: true, block: newBlock[T](k.path, d.Dk, d.M, d.Dv, false)}, d)
}

func (k *TokenKeys[T]) run(p *Pool, t tokenProducts[T], d TokenKeysParams) {
	t.stream, t.workers, t.rooms = d.Dk*d.Dv, k.task.workers, k.task.rooms
	if t.turn {
		t.workers = growRows(t.workers, p, d.M*d.Dv)
	}
	t.ready(p)
	k.task = t
	p.Do(d.Tokens, &k.task)
}
