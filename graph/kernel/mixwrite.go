package kernel

// MixWrite carries a stream of several rows over to the next sublayer and adds a sublayer's output,
// as hyper-connections (Zhu et al. 2024, arXiv 2409.19606, eq. 2: A_r and B) and the designs based
// on it do. With C_t, H_t as in MixRead and y_t [m, d] a sublayer's output,
//
//	H'_t[k] = sum over i of carry_t[i, k] H_t[i] + sum over j of up'_t[k, j] y_t[j]
//	carry_t[i, k] = C_t[i, m+k],  up'_t[k, j] = C_t[k, m+n+j]
//
// If C has no columns of carry, it is the unit matrix.
type MixWrite[T Float] struct {
	forward  mixWriteForward[T]
	backward mixWriteBackward[T]
	path     path
}

// Forward computes out [tokens, n, d] from h of the same shape, y [tokens, m, d] and c [tokens, n,
// 2m+n], or [n, 2m+n] if shared. out may be h.
func (k *MixWrite[T]) Forward(p *Pool, out, h, y, c []T, d MixParams) {
	k.ForwardRead(p, out, nil, h, y, c, d)
}

// ForwardRead is like Forward and computes, from each token's out while it is in the cache,
// u_t[j] = sum over i of C_t[i, j] out_t[i], j < m: u [tokens, m, d], nil if it is not wanted.
func (k *MixWrite[T]) ForwardRead(p *Pool, out, u, h, y, c []T, d MixParams) {
	t := &k.forward
	t.d, t.u = d, u
	t.read = newCombination[T](k.path, d.M, d.D, d.term(d.N, true))
	if d.Mixes() {
		t.write = newCombination[T](k.path, d.N, d.D, d.term(d.N, true), d.term(d.M, false))
	} else {
		t.write = newCombination[T](k.path, d.N, d.D, d.term(d.M, false))
	}
	t.out, t.h, t.y, t.c = out, h, y, c[:d.totalC()]
	t.scratch = growKept(t.scratch, p.Threads())
	p.Do(d.Tokens, t)
}

type mixWriteForward[T Float] struct {
	write, read     combination[T]
	out, u, h, y, c []T
	d               MixParams
	scratch         [][]T // one H_t for each worker
}

func (t *mixWriteForward[T]) Part(worker, lo, hi int) {
	write, read, d := t.write, t.read, t.d
	sizeH, sizeY := d.stream(), d.rows()
	ahead := tokensAhead[T](sizeH)
	for i := lo; i < hi; i++ {
		prefetchToken(t.h, i+ahead, sizeH)
		prefetchToken(t.y, i+ahead, sizeY)
		prefetchToken(t.out, i+ahead, sizeH)
		c := coefficientsOf(t.c, i, d) // [n, 2m+n]
		out := rowOf(t.out, i, sizeH)  // [n, d]
		if !d.Mixes() {
			write.run(out, c[d.up():], rowOf(t.y, i, sizeY), nil, nil, rowOf(t.h, i, sizeH))
		} else {
			h := write.aside(&t.scratch[worker], out, rowOf(t.h, i, sizeH))
			write.run(out, c[d.carry():], h, c[d.up():], rowOf(t.y, i, sizeY), nil)
		}
		if t.u != nil {
			read.run(rowOf(t.u, i, sizeY), c, out, nil, nil, nil)
		}
	}
}

// Backward computes the gradients of Forward's h, y and c from dout [tokens, n, d], the gradient of
// out, in one pass over dout:
//
//	dH_t[i] = sum over k of carry_t[i, k] dout_t[k] + Addend
//	dy_t[j] = sum over k of up'_t[k, j] dout_t[k]
//	dC_t[i, m+k] = H_t[i] . dout_t[k],  dC_t[k, m+n+j] = dout_t[k] . y_t[j]; + AddendC
//
// and 0 for the columns of down. The gradient of h may be dout; without carry it is dout, and is
// not computed. For a shared C, see MixRead.Backward.
func (k *MixWrite[T]) Backward(p *Pool, g MixGrads[T], dout, h, y, c []T, d MixParams) {
	k.BackwardRead(p, g, dout, nil, nil, h, y, c, d)
}

// BackwardRead computes the gradients of ForwardRead from dout and du, the gradient of u: those of
// Backward with dout_t[i] + sum over j of C_t[i, j] du_t[j] in place of dout, and
//
//	dC_t[i, j] = out_t[i] . du_t[j],   j < m
//
// Without carry it computes the gradient of h, too.
func (k *MixWrite[T]) BackwardRead(p *Pool, g MixGrads[T], dout, du, out, h, y, c []T, d MixParams) {
	t := &k.backward
	t.du, t.out = du, out
	t.down = newCombination[T](k.path, d.N, d.D, d.term(d.M, false))
	t.d, t.path = d, pathOf[T](k.path)
	t.carry = newCombination[T](k.path, d.N, d.D, d.term(d.N, false))
	t.up = newCombination[T](k.path, d.M, d.D, d.term(d.N, true))
	t.carryDots = dots[T]{path: t.path, m: d.N, n: d.N, k: d.D, cs: d.Columns(), add: true}
	t.upDots = dots[T]{path: t.path, m: d.N, n: d.M, k: d.D, cs: d.Columns(), add: true}
	t.dout, t.h, t.y, t.c = dout, h, y, c[:d.totalC()]
	t.grads.set(p, t.path, g, d)
	t.scratch, t.sums = growKept(t.scratch, p.Threads()), growKept(t.sums, p.Threads())
	t.tokens = pieces{d.Tokens, pieceTokens}
	p.Do(t.tokens.number(), t)
	t.grads.store(p, t.path)
}

type mixWriteBackward[T Float] struct {
	carry, up, down        combination[T]
	carryDots, upDots      dots[T]
	grads                  mixGrads[T]
	dout, du, out, h, y, c []T // du and out are nil without a read
	d                      MixParams
	scratch, sums          [][]T // one dout_t for each worker
	tokens                 pieces
	path                   path
}

// Part computes the pieces [lo, hi).
func (t *mixWriteBackward[T]) Part(worker, lo, hi int) {
	sum := t.grads.sums.begin(worker)
	t.tokens.each(lo, hi, func(first, end int) { t.piece(worker, sum, first, end) }, sum)
}

// piece computes the tokens [first, end).
func (t *mixWriteBackward[T]) piece(worker int, sum *treeSum[T], first, end int) {
	carry, up, down, d, g := t.carry, t.up, t.down, t.d, &t.grads
	sizeH, sizeY := d.stream(), d.rows()
	ahead := tokensAhead[T](sizeH)
	for i := first; i < end; i++ {
		t.prefetch(i + ahead)
		c, dout := coefficientsOf(t.c, i, d), rowOf(t.dout, i, sizeH) // [n, 2m+n], [n, d]
		du := rowOf(t.du, i, sizeY)
		if du != nil {
			dout = t.withRead(worker, &down, i, c, dout, du)
		}
		if g.C != nil {
			dc := g.token(t.path, sum, i)
			if du != nil {
				t.upDots.run(dc, rowOf(t.out, i, sizeH), du)
			}
			if d.Mixes() {
				t.carryDots.run(dc[d.carry():], rowOf(t.h, i, sizeH), dout)
			}
			t.upDots.run(dc[d.up():], dout, rowOf(t.y, i, sizeY))
		}
		if g.Y != nil {
			dy := rowOf(g.Y, i, sizeY) // [m, d]
			up.run(dy, c[d.up():], dout, nil, nil, kept(dy, g.AddToY))
		}
		if !d.Mixes() {
			t.unmixed(i, dout)
			continue
		}
		dh := rowOf(g.H, i, sizeH) // [n, d], perhaps dout itself
		dout = carry.aside(&t.scratch[worker], dh, dout)
		carry.run(dh, c[d.carry():], dout, nil, nil, rowOf(g.AddendH, i, sizeH))
	}
}

// withRead returns the sum [n, d] of a token's dout, which may be nil, and what du gives.
func (t *mixWriteBackward[T]) withRead(worker int, down *combination[T], i int, c, dout, du []T) []T {
	sum := grow(t.sums[worker], t.d.stream())
	t.sums[worker] = sum
	down.run(sum, c, du, nil, nil, dout)
	return sum
}

// unmixed computes dH without carry, where it is wanted, from the sum dout of a token.
func (t *mixWriteBackward[T]) unmixed(i int, dout []T) {
	sizeH := t.d.stream()
	dh, addend := rowOf(t.grads.H, i, sizeH), rowOf(t.grads.AddendH, i, sizeH)
	if addend == nil {
		copy(dh, dout)
	} else if dh != nil {
		setSum(t.path, dh, addend, dout)
	}
}

// prefetch starts loading what token i needs.
func (t *mixWriteBackward[T]) prefetch(i int) {
	sizeH := t.d.stream()
	prefetchToken(t.dout, i, sizeH)
	prefetchToken(t.grads.H, i, sizeH)
	prefetchToken(t.grads.AddendH, i, sizeH)
	if t.grads.C != nil {
		if t.d.Mixes() {
			prefetchToken(t.h, i, sizeH)
		}
		prefetchToken(t.y, i, t.d.rows())
		prefetchToken(t.out, i, sizeH)
	}
}

// kept returns out if a result is to be added to it, otherwise nil.
func kept[T Float](out []T, accumulate bool) []T {
	if accumulate {
		return out
	}
	return nil
}
