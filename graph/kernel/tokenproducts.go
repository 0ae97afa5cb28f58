package kernel

// tokenProducts computes one product for each token, out_t = op(a_t) b_t + addend_t; the workers
// share the tokens.
type tokenProducts[T Float] struct {
	block          block[T]
	out, addend, b Rows[T]
	a              Rows[T]  // a separate a for each token
	shared         []T      // or one a for all tokens
	early          Rows[T]  // rows as large as out that are prefetched, or no tensor
	stream         int      // elements of a token, which determine how far ahead to prefetch
	turn           bool     // b_t is stored as [n, k] and transposed first
	workers        [][]T    // each worker's transposed b_t
	rooms          rooms[T] // for a token of out and the addend, of a and of b
}

// sizes returns the numbers of elements of a token's a, b and out.
func (t *tokenProducts[T]) sizes() (a, b, out int) {
	x := t.block
	return x.m * x.tile.k, x.tile.k * x.n, x.m * x.n
}

// ready makes room for a run.
func (t *tokenProducts[T]) ready(p *Pool, rooms rooms[T]) {
	a, b, out := t.sizes()
	t.rooms = rooms
	t.rooms.ready(p, a+b+out, t.out, t.addend, t.a, t.b)
}

func (t *tokenProducts[T]) Part(worker, lo, hi int) {
	x, path := t.block, t.block.kernels.path
	sizeA, sizeB, sizeC := t.sizes()
	roomA, roomB, roomC := t.rooms.part(worker, 0, sizeA), t.rooms.part(worker, sizeA, sizeB), t.rooms.part(worker, sizeA+sizeB, sizeC)
	ahead := t.out.tokensAhead(t.stream)
	for i := lo; i < hi; i++ {
		t.a.prefetchSmallToken(i+ahead, sizeA)
		t.b.prefetchSmallToken(i+ahead, sizeB)
		t.early.prefetchSmallToken(i+ahead, sizeC)
		a, b := t.shared, t.b.read(path, roomB, i*sizeB, sizeB)
		if a == nil {
			a = t.a.read(path, roomA, i*sizeA, sizeA)
		}
		if t.turn {
			transpose(path, t.workers[worker], x.n, b, x.tile.k, x.n, x.tile.k)
			b = t.workers[worker]
		}
		out := t.out.target(roomC, i*sizeC, sizeC)
		x.multiply(out, a, b, t.addend.read(path, roomC, i*sizeC, sizeC))
		t.out.write(path, out, i*sizeC)
	}
}
