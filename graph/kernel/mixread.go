package kernel

// MixRead reads rows of a stream of several rows with mixing coefficients, as
// hyper-connections (Zhu et al. 2024, arXiv 2409.19606, eq. 2: A_m) and the designs after
// it do. C_t [n, 2m+n] has the columns down (m), carry (n) and up' (m); with H_t [n, d]
// the stream of token t,
//
//	u_t[j] = sum over i of C_t[i, j] H_t[i],   j < m
//
// MixWrite uses the other columns.
type MixRead[T Float] struct {
	// Addend, where not nil, is added to Backward's dh, which may be Addend itself;
	// AddendC is added to dc.
	Addend, AddendC []T

	forward  mixReadForward[T]
	backward mixReadBackward[T]
	path     path
}

// Forward computes u [tokens, m, d] from h [tokens, n, d] and c [tokens, n, 2m+n], or
// [n, 2m+n] where it is shared. u must not overlap h.
func (k *MixRead[T]) Forward(p *Pool, u, h, c []T, d MixParams) {
	k.forward = mixReadForward[T]{
		read: newCombination[T](k.path, d.M, d.D, d.term(d.N, true)),
		u:    u[:d.Tokens*d.rows()], h: h[:d.Tokens*d.stream()], c: c[:d.totalC()], d: d,
	}
	p.Do(d.Tokens, &k.forward)
	k.forward = mixReadForward[T]{} // keeps no operand alive
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
		u := t.u[i*sizeU : (i+1)*sizeU] // [m, d]
		read.run(u, coefficientsOf(t.c, i, d), t.h[i*sizeH:], nil, nil, nil)
	}
}

// Backward computes the gradients of Forward's h and c from du [tokens, m, d], that of u:
//
//	dH_t[i] = sum over j of C_t[i, j] du_t[j] + Addend
//	dC_t[i, j] = H_t[i] . du_t[j] for j < m, 0 for the other columns; + AddendC
//
// dc may be nil: not wanted. That of a shared C is the sum over tokens. accumulate adds dc to what
// the slice holds.
func (k *MixRead[T]) Backward(p *Pool, dh, dc, du, h, c []T, accumulate bool, d MixParams) {
	t := &k.backward
	t.d, t.path = d, pathOf[T](k.path)
	t.store = newCombination[T](k.path, d.N, d.D, d.term(d.M, false))
	t.dots = dots[T]{path: t.path, m: d.N, n: d.M, k: d.D, cs: d.Columns(), add: true}
	t.dh, t.du, t.h, t.c = dh[:d.Tokens*d.stream()], du[:d.Tokens*d.rows()], h[:d.Tokens*d.stream()], c[:d.totalC()]
	t.addend = k.Addend
	t.grads.set(p, t.path, dc, k.AddendC, accumulate, d)
	t.tokens = pieces{d.Tokens, pieceTokens}
	p.Do(t.tokens.number(), t)
	t.grads.collect(p, t.path)
	t.dh, t.du, t.h, t.c, t.addend = nil, nil, nil, nil, nil
	k.Addend, k.AddendC = nil, nil
}

type mixReadBackward[T Float] struct {
	store                combination[T]
	dots                 dots[T]
	grads                mixGrads[T]
	dh, du, h, c, addend []T
	d                    MixParams
	tokens               pieces
	path                 path
}

// Part works on some pieces.
func (t *mixReadBackward[T]) Part(worker, lo, hi int) {
	sum := t.grads.begin(worker)
	for piece := lo; piece < hi; piece++ {
		first, end := t.tokens.items(piece)
		t.piece(sum, first, end)
		if sum != nil {
			sum.end(piece)
		}
	}
}

// piece works on the tokens [first, end).
func (t *mixReadBackward[T]) piece(sum *treeSum[T], first, end int) {
	store, dots, d := t.store, t.dots, t.d
	sizeH, sizeU := d.stream(), d.rows()
	ahead := tokensAhead[T](sizeH)
	for i := first; i < end; i++ {
		prefetchToken(t.du, i+ahead, sizeU)
		prefetchToken(t.dh, i+ahead, sizeH)
		if t.grads.dc != nil {
			prefetchToken(t.h, i+ahead, sizeH)
		}
		prefetchToken(t.addend, i+ahead, sizeH)
		du := t.du[i*sizeU : (i+1)*sizeU] // [m, d]
		store.run(t.dh[i*sizeH:], coefficientsOf(t.c, i, d), du, nil, nil, rowOf(t.addend, i, sizeH))
		if t.grads.dc != nil {
			dots.run(t.grads.token(t.path, sum, i), t.h[i*sizeH:], du)
		}
	}
}
