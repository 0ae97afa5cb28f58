package kernel

// Copies makes the rows of a stream from one vector for each token, and sums the rows to one
// vector: the ways into and out of a stream of several rows (hyper-connections start with n copies
// of the embedding and end with the sum of the rows; Zhu et al. 2024, arXiv 2409.19606, algorithm
// 1). Each is the other's gradient.
type Copies[T Float] struct {
	spread copiesTask[T]
	sum    sumCopiesTask[T]
	path   path
}

// Spread computes out [tokens, n, width], out_t[i] = x_t + addend_t[i], from x [tokens, width]. A
// nil addend means zero; out may be addend.
func (k *Copies[T]) Spread(p *Pool, out, x, addend []T, tokens, n, width int) {
	k.spread = copiesTask[T]{out: out, x: x, addend: addend, n: n, width: width, path: pathOf[T](k.path)}
	p.Do(tokens, &k.spread)
}

// Sum computes out [tokens, width], out_t = the sum of h_t's rows + addend_t, from h [tokens, n,
// width]. It adds the rows in order, and the addend, unless it is nil, last.
func (k *Copies[T]) Sum(p *Pool, out, h, addend []T, tokens, n, width int) {
	k.sum = sumCopiesTask[T]{out: out, h: h, addend: addend, n: n, width: width, path: pathOf[T](k.path)}
	p.Do(tokens, &k.sum)
}

type copiesTask[T Float] struct {
	out, x, addend []T
	n, width       int
	path           path
}

func (t *copiesTask[T]) Part(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		x := rowOf(t.x, i, t.width)
		for row := i * t.n; row < (i+1)*t.n; row++ {
			out := rowOf(t.out, row, t.width)
			if t.addend == nil {
				copy(out, x)
			} else {
				setSum(t.path, out, rowOf(t.addend, row, t.width), x)
			}
		}
	}
}

type sumCopiesTask[T Float] struct {
	out, h, addend []T
	n, width       int
	path           path
}

func (t *sumCopiesTask[T]) Part(_, lo, hi int) {
	ahead := tokensAhead[T](t.n * t.width)
	for i := lo; i < hi; i++ {
		prefetchToken(t.h, i+ahead, t.n*t.width)
		t.token(i)
	}
}

// token sums the rows of token i, two at a time.
func (t *sumCopiesTask[T]) token(i int) {
	out, first := rowOf(t.out, i, t.width), i*t.n
	row := func(j int) []T { return rowOf(t.h, first+j, t.width) }
	if t.n == 1 {
		copy(out, row(0))
	} else {
		setSum(t.path, out, row(0), row(1))
	}
	next := 2
	for ; next+1 < t.n; next += 2 {
		addTwo(t.path, out, row(next), row(next+1))
	}
	if next < t.n {
		addTo(t.path, out, row(next))
	}
	if t.addend != nil {
		addTo(t.path, out, rowOf(t.addend, i, t.width))
	}
}
