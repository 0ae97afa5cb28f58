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
	linear   NormLinear[T]
	path     path
}

// MixProjection is a NormLinear of the stream that a MixWrite writes, one or more rows of it for
// each token: z [rows, k], and what computes it.
type MixProjection[T Float] struct {
	Z, Gain, W, Mean, RSTD []T
	NormLinearParams
}

// Forward computes out [tokens, n, d] from h of the same shape, y [tokens, m, d] and c [tokens, n,
// 2m+n], or [n, 2m+n] if shared. out may be h.
func (k *MixWrite[T]) Forward(p *Pool, out, h, y, c []T, d MixParams) {
	k.ForwardNext(p, out, nil, h, y, c, d, MixProjection[T]{})
}

// ForwardNext is like Forward and computes, from out while it is in the cache, what the next
// sublayer needs of it: u_t[j] = sum over i of C_t[i, j] out_t[i], j < m, u [tokens, m, d], unless
// u is nil, and the projection, unless it has no columns.
func (k *MixWrite[T]) ForwardNext(p *Pool, out, u, h, y, c []T, d MixParams, next MixProjection[T]) {
	t := &k.forward
	t.d, t.u, t.linear = d, u, nil
	if next.K > 0 {
		t.linear = k.linear.forwardOf(p, next.Z, out, next.Gain, next.W, next.Mean, next.RSTD, next.NormLinearParams)
	}
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
	scratch         [][]T                 // one H_t for each worker
	linear          *normLinearForward[T] // nil without a projection
}

func (t *mixWriteForward[T]) Part(worker, lo, hi int) {
	if t.linear == nil {
		t.tokens(worker, lo, hi)
		return
	}
	for rows := t.linear.d.rowsOf(t.d); lo < hi; lo += forwardRows {
		end := min(lo+forwardRows, hi)
		t.tokens(worker, lo, end)
		t.linear.Part(worker, lo*rows, end*rows)
	}
}

// rowsOf returns the number of rows in each token of a stream.
func (d NormLinearParams) rowsOf(of MixParams) int { return of.stream() / d.Width }

// tokens computes the tokens [lo, hi).
func (t *mixWriteForward[T]) tokens(worker, lo, hi int) {
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
	k.BackwardNext(p, g, dout, MixReadTerm[T]{}, h, y, c, d, MixProjectionGrads[T]{})
}

// MixProjectionGrads are the gradient of a MixProjection's z, and the slices for those of its gain
// and w.
type MixProjectionGrads[T Float] struct {
	Of    MixProjection[T]
	DZ    []T
	Grads NormLinearGrads[T] // without X, which is what BackwardNext adds to dout
}

// MixReadTerm is what a read of out adds to the gradient of out: the gradient DU of u, nil if there
// is none, and the coefficients By and their sizes. If By is nil, u was read by the write's own C,
// whose gradient gets the read's term, too. Out is the stream that was written; that term and a
// projection need it.
type MixReadTerm[T Float] struct {
	DU, Out, By []T
	MixParams
}

// BackwardNext computes the gradients of ForwardNext from dout, from du (the gradient of a u that
// was read from out) and from the projection's gradient. They are Backward's, with dout_t[i]
// replaced by dout_t[i] + sum over j of C_t[i, j] du_t[j] + the projection's gradient of out_t[i].
// If u was read by C, dC has in addition
//
//	dC_t[i, j] = out_t[i] . du_t[j],   j < m
//
// Without carry it computes the gradient of h, too. With a projection the gradient of h must not be
// g.AddendH.
func (k *MixWrite[T]) BackwardNext(p *Pool, g MixGrads[T], dout []T, read MixReadTerm[T], h, y, c []T, d MixParams, next MixProjectionGrads[T]) {
	t := &k.backward
	t.linear, t.tokens = nil, pieces{d.Tokens, pieceTokens}
	if next.Of.K > 0 {
		of := next.Of
		next.Grads.X, next.Grads.AddendX = g.H, dout
		t.linear = k.linear.backwardOf(p, next.Grads, next.DZ, of.Z, read.Out, of.Gain, of.W, of.Mean, of.RSTD, of.NormLinearParams)
		rows := of.rowsOf(d)
		t.tokens.size = max(1, backwardPiece/(rows&-rows)) // whole pieces of the projection's rows: both powers of 2
		dout = g.H
	}
	t.own = read.By == nil
	if t.own {
		read.By, read.MixParams = c, d
	}
	t.read = read
	t.down = newCombination[T](k.path, d.N, d.D, read.term(read.M, false))
	t.d, t.path = d, pathOf[T](k.path)
	t.carry = newCombination[T](k.path, d.N, d.D, d.term(d.N, false))
	t.up = newCombination[T](k.path, d.M, d.D, d.term(d.N, true))
	t.carryDots = dots[T]{path: t.path, m: d.N, n: d.N, k: d.D, cs: d.Columns(), add: true}
	t.upDots = dots[T]{path: t.path, m: d.N, n: d.M, k: d.D, cs: d.Columns(), add: true}
	t.dout, t.h, t.y, t.c = dout, h, y, c[:d.totalC()]
	t.grads.set(p, t.path, g, d)
	t.scratch, t.sums = growKept(t.scratch, p.Threads()), growKept(t.sums, p.Threads())
	p.Do(t.tokens.number(), t)
	t.grads.store(p, t.path)
	if next.Of.K > 0 {
		k.linear.finish(p, next.Grads, next.Of.Gain, next.Of.W, next.Of.NormLinearParams)
	}
}

type mixWriteBackward[T Float] struct {
	carry, up, down   combination[T]
	carryDots, upDots dots[T]
	grads             mixGrads[T]
	dout, h, y, c     []T
	read              MixReadTerm[T]
	own               bool // the read is by c
	d                 MixParams
	scratch, sums     [][]T // one dout_t for each worker
	tokens            pieces
	path              path
	linear            *normLinearBackward[T] // nil without a projection
}

// Part computes the pieces [lo, hi).
func (t *mixWriteBackward[T]) Part(worker, lo, hi int) {
	sum := t.grads.sums.begin(worker)
	if t.linear == nil {
		t.tokens.each(lo, hi, func(first, end int) { t.piece(worker, sum, first, end) }, sum)
		return
	}
	b := t.linear.begin(worker)
	t.tokens.each(lo, hi, func(first, end int) { t.projected(worker, sum, b, first, end) }, sum)
}

// projected computes the tokens [first, end) with a projection: a block of its rows at a time, then
// the tokens whose rows are complete. The projection's sums are closed where its own pieces end.
func (t *mixWriteBackward[T]) projected(worker int, sum *treeSum[T], b *normLinearScratch[T], first, end int) {
	rows := t.linear.d.rowsOf(t.d)
	for from, last := first*rows, end*rows; from < last; {
		piece := from / backwardPiece
		to := min(from+b.most, (piece+1)*backwardPiece, last)
		t.linear.rows(b, from, to-from, b.v.block, b.shifts.block) // what arrives at out, in the gradient of h
		t.piece(worker, sum, first, to/rows)
		if to == last || to%backwardPiece == 0 {
			b.v.end(piece)
			b.shifts.end(piece)
		}
		from, first = to, to/rows
	}
}

// piece computes the tokens [first, end).
func (t *mixWriteBackward[T]) piece(worker int, sum *treeSum[T], first, end int) {
	carry, up, down, d, g := t.carry, t.up, t.down, t.d, &t.grads
	sizeH, sizeY := d.stream(), d.rows()
	ahead := tokensAhead[T](sizeH)
	for i := first; i < end; i++ {
		t.prefetch(i + ahead)
		c, dout := coefficientsOf(t.c, i, d), rowOf(t.dout, i, sizeH) // [n, 2m+n], [n, d]
		du := rowOf(t.read.DU, i, t.read.rows())
		if du != nil {
			dout = t.withRead(worker, &down, i, dout, du)
		}
		if g.C != nil {
			dc := g.token(t.path, sum, i)
			if du != nil && t.own {
				t.upDots.run(dc, rowOf(t.read.Out, i, sizeH), du)
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
func (t *mixWriteBackward[T]) withRead(worker int, down *combination[T], i int, dout, du []T) []T {
	sum := grow(t.sums[worker], t.d.stream())
	t.sums[worker] = sum
	down.run(sum, coefficientsOf(t.read.By, i, t.read.MixParams), du, nil, nil, dout)
	return sum
}

// unmixed computes dH without carry, where it is wanted, from the sum dout of a token.
func (t *mixWriteBackward[T]) unmixed(i int, dout []T) {
	sizeH := t.d.stream()
	dh, addend := rowOf(t.grads.H, i, sizeH), rowOf(t.grads.AddendH, i, sizeH)
	switch {
	case dh == nil:
	case addend != nil:
		setSum(t.path, dh, addend, dout)
	case &dh[0] != &dout[0]:
		copy(dh, dout)
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
		if t.own {
			prefetchToken(t.read.Out, i, sizeH)
		}
	}
	prefetchToken(t.read.DU, i, t.read.rows())
}

// kept returns out if a result is to be added to it, otherwise nil.
func kept[T Float](out []T, accumulate bool) []T {
	if accumulate {
		return out
	}
	return nil
}
