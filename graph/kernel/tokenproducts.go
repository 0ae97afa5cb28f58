package kernel

import "unsafe"

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
	rooms          rooms[T] // for the tokens of one call: of out and the addend, of a and of b
	atOnce         int      // tokens of a call
}

// tokensAtOnce returns how many tokens one call of a micro-kernel handles: calls would take most of
// the time of small tokens. All that is read and written for those of a call, elements for each,
// fits into half of a first-level cache.
func tokensAtOnce[T Float](elements int) int {
	const size, most = 16 << 10, 16
	return min(max(1, size/max(1, elements*int(unsafe.Sizeof(T(0))))), most)
}

// sizes returns the numbers of elements of a token's a, b and out.
func (t *tokenProducts[T]) sizes() (a, b, out int) {
	x := t.block
	return x.m * x.tile.k, x.tile.k * x.n, x.m * x.n
}

// ready makes room for a run.
func (t *tokenProducts[T]) ready(p *Pool) {
	a, b, out := t.sizes()
	t.atOnce = 1
	if !t.turn {
		t.atOnce = tokensAtOnce[T](a + b + 2*out) // with the addend
	}
	t.rooms.ready(p, t.atOnce*(a+b+out), t.out, t.addend, t.a, t.b)
}

func (t *tokenProducts[T]) Part(worker, lo, hi int) {
	x, path := t.block, t.block.kernels.path
	sizeA, sizeB, sizeC := t.sizes()
	step := x.dense()
	if t.shared == nil {
		step.a = sizeA
	}
	room := func(at, size int) []T { return t.rooms.part(worker, t.atOnce*at, t.atOnce*size) }
	roomA, roomB, roomC := room(0, sizeA), room(sizeA, sizeB), room(sizeA+sizeB, sizeC)
	ahead := t.out.tokensAhead(t.stream)
	for i := lo; i < hi; i += t.atOnce {
		n := min(t.atOnce, hi-i)
		t.a.prefetchSmallTokens(i+ahead, n, sizeA)
		t.b.prefetchSmallTokens(i+ahead, n, sizeB)
		t.early.prefetchSmallTokens(i+ahead, n, sizeC)
		a, b := t.shared, t.b.read(path, roomB, i*sizeB, n*sizeB)
		if a == nil {
			a = t.a.read(path, roomA, i*sizeA, n*sizeA)
		}
		if t.turn {
			transpose(path, t.workers[worker], x.n, b, x.tile.k, x.n, x.tile.k)
			b = t.workers[worker]
		}
		out := t.out.target(roomC, i*sizeC, n*sizeC)
		x.multiplyTokens(n, step, out, a, b, t.addend.read(path, roomC, i*sizeC, n*sizeC))
		t.out.write(path, out, i*sizeC)
	}
}
