package kernel

// MixRead reads rows of a stream of several rows with mixing coefficients, as hyper-connections
// (Zhu et al. 2024, arXiv 2409.19606, eq. 2: A_m) and the designs based on it do. C_t [n, 2m+n] has
// the columns down (m), carry (n) and up' (m); with H_t [n, d] the stream of token t,
//
//	u_t[j] = sum over i of C_t[i, j] H_t[i],   j < m
//
// MixWrite uses the other columns.
type MixRead[T Float] struct {
	forward  mixReadForward[T]
	backward mixReadBackward[T]
	path     path
}

// Forward computes u [tokens, m, d] from h [tokens, n, d] and c [tokens, n, 2m+n], or [n, 2m+n] if
// shared. u must not overlap h.
func (k *MixRead[T]) Forward(p *Pool, u, h, c []T, d MixParams) {
	k.forward = mixReadForward[T]{
		read: newCombination[T](k.path, d.M, d.D, d.term(d.N, true)),
		u:    u, h: h, c: c[:d.totalC()], d: d,
	}
	p.Do(d.Tokens, &k.forward)
}

type mixReadForward[T Float] struct {
	read    combination[T]
	u, h, c []T
	d       MixParams
}

func (t *mixReadForward[T]) Part(_, lo, hi int) {
	read, d := t.read, t.d
	sizeH, sizeU := d.stream(), d.rows()
	ahead := tokensAhead[T](sizeH)
	for i := lo; i < hi; i++ {
		prefetchSmallToken(t.h, i+ahead, sizeH)
		read.run(rowOf(t.u, i, sizeU), coefficientsOf(t.c, i, d), rowOf(t.h, i, sizeH), nil, nil, nil)
	}
}

// Backward computes the gradients of Forward's h and c from du [tokens, m, d], the gradient of u:
//
//	dH_t[i] = sum over j of C_t[i, j] du_t[j] + Addend
//	dC_t[i, j] = H_t[i] . du_t[j] for j < m, 0 for the other columns; + AddendC
//
// The gradient of a shared C is the sum over tokens. Without g.H, it computes only that of c, and c
// may be nil.
func (k *MixRead[T]) Backward(p *Pool, g MixGrads[T], du, h, c []T, d MixParams) {
	t := &k.backward
	t.d, t.path = d, pathOf[T](k.path)
	t.store = newCombination[T](k.path, d.N, d.D, d.term(d.M, false))
	t.dots = dots[T]{path: t.path, m: d.N, n: d.M, k: d.D, cs: d.Columns(), add: true}
	t.du, t.h, t.c = du, h, c
	t.grads.set(p, t.path, g, d)
	t.tokens = pieces{d.Tokens, pieceTokens}
	p.Do(t.tokens.number(), t)
	t.grads.store(p, t.path)
}

type mixReadBackward[T Float] struct {
	store    combination[T]
	dots     dots[T]
	grads    mixGrads[T]
	du, h, c []T
	d        MixParams
	tokens   pieces
	path     path
}

// Part computes the pieces [lo, hi).
func (t *mixReadBackward[T]) Part(worker, lo, hi int) {
	sum, store, dots := t.grads.sums.begin(worker), t.store, t.dots
	ahead := tokensAhead[T](t.d.stream())
	t.tokens.each(lo, hi, func(first, end int) {
		for i := first; i < end; i++ {
			t.prefetch(i + ahead)
			t.token(sum, &store, &dots, i)
		}
	}, sum)
}

// prefetch starts loading what token i needs.
func (t *mixReadBackward[T]) prefetch(i int) {
	sizeH := t.d.stream()
	prefetchToken(t.du, i, t.d.rows())
	prefetchToken(t.grads.H, i, sizeH)
	if t.grads.C != nil {
		prefetchToken(t.h, i, sizeH)
	}
	prefetchToken(t.grads.AddendH, i, sizeH)
}

func (t *mixReadBackward[T]) token(sum *treeSum[T], store *combination[T], dots *dots[T], i int) {
	g, sizeH, du := &t.grads, t.d.stream(), rowOf(t.du, i, t.d.rows()) // [m, d]
	if g.H != nil {
		store.run(rowOf(g.H, i, sizeH), coefficientsOf(t.c, i, t.d), du, nil, nil, rowOf(g.AddendH, i, sizeH))
	}
	if g.C != nil {
		dots.run(g.token(t.path, sum, i), rowOf(t.h, i, sizeH), du)
	}
}
