package kernel

// NormReadParams are the sizes of a NormRead.
type NormReadParams struct {
	Tokens int     // T
	R      int     // number of key vectors, each of which makes one read
	Dk, Dv int     // the matrix stream of a token is Dk x Dv
	RMS    bool    // RMSNorm instead of LayerNorm
	Eps    float64 // added to the variance, or to the mean square
}

// NormRead normalises the matrix of each token over all of its Dk*Dv entries jointly and
// reads it with key vectors (Mak & Flanigan 2025, arXiv 2506.22696, eq. 22 and 25):
//
//	Xn_t = Norm(X_t) * gain                      [Dk, Dv], normalised as in Norm
//	out_t[r, dv] = sum over dk of keys[r, dk] Xn_t[dk, dv]
//
// The normalised matrices are never stored: a worker computes those of a few tokens at a time in
// its scratch memory, and again in Backward. There is no bias.
type NormRead[T Float] struct {
	forward  normReadForward[T]
	backward normReadBackward[T]
	path     path
}

// Forward computes out [tokens, R, Dv] from x [tokens, Dk, Dv], gain [Dk, Dv] and keys [R, Dk], and
// saves mean and rstd [tokens] for Backward. RMSNorm does not use mean, which may then be nil.
func (k *NormRead[T]) Forward(p *Pool, out, x Rows[T], gain, keys, mean, rstd []T, d NormReadParams) {
	t := &k.forward
	t.out, t.x, t.gain, t.keys, t.mean, t.rstd, t.d = out, x, gain[:d.Dk*d.Dv], keys, mean, rstd, d
	t.path = pathOf[T](k.path)
	t.atOnce = tokensAtOnce[T]((2*d.Dk + d.R) * d.Dv) // x, normalised, out
	t.xn = growRows(t.xn, p, t.atOnce*d.Dk*d.Dv)
	t.rooms.ready(p, t.atOnce*d.R*d.Dv, out)
	p.Do(d.Tokens, t)
}

// Backward computes the gradients of Forward's x, gain and keys from dout, the gradient of out:
//
//	dXn_t = keys^T dout_t                              [Dk, Dv]
//	dX_t, dgain: those of Norm with dy = dXn_t
//	dkeys = sum over tokens of dout_t Xn_t^T           [R, Dk]
//
// Each of dx, dgain and dkeys may be nil if it is not wanted. accumulateGain (accumulateKeys) adds
// dgain (dkeys) to what the slice holds; dx is always overwritten. dx may be x, or addend, which is
// added to it unless it is nil (see Norm).
func (k *NormRead[T]) Backward(p *Pool, dx, addend Rows[T], dgain, dkeys []T, dout, x Rows[T], gain, keys, mean, rstd []T,
	accumulateGain, accumulateKeys bool, d NormReadParams) {
	t := &k.backward
	t.dx, t.addend, t.dout, t.x, t.gain, t.keys, t.mean, t.rstd, t.d = dx, addend, dout, x, gain[:d.Dk*d.Dv], keys, mean, rstd, d
	t.path = pathOf[T](k.path)
	t.dgain.want(p, t.path, dgain, accumulateGain)
	t.dkeys.want(p, t.path, dkeys, accumulateKeys, d.R, d.Dk, d.Dv)
	t.atOnce = min(tokensAtOnce[T](5*d.Dk*d.Dv), t.dkeys.atOnce, normReadTokens) // x, dx, and a normReadWork's three
	t.matrices = growRows(t.matrices, p, 3*t.atOnce*d.Dk*d.Dv)
	t.rooms.ready(p, t.atOnce*d.R*d.Dv, dout)
	t.tokens = pieces{d.Tokens, pieceTokens}
	p.Do(t.tokens.number(), t)
	t.dgain.store(p)
	t.dkeys.store(p)
}

type normReadForward[T Float] struct {
	out, x                 Rows[T]
	gain, keys, mean, rstd []T
	d                      NormReadParams
	path                   path
	atOnce                 int      // tokens of a call of a micro-kernel
	xn                     [][]T    // their normalised matrices, for each worker
	rooms                  rooms[T] // for these tokens of out
}

func (t *normReadForward[T]) Part(worker, lo, hi int) {
	d, xn := t.d, t.xn[worker]
	size, outSize := d.Dk*d.Dv, d.R*d.Dv
	read := newBlock[T](t.path, d.R, d.Dv, d.Dk, false)
	ahead, room := t.x.tokensAhead(size), t.rooms.part(worker, 0, t.atOnce*outSize)
	for i := lo; i < hi; i += t.atOnce {
		n := min(t.atOnce, hi-i)
		t.x.prefetchTokens(i+ahead, n, size)
		for j := range n {
			to := rowOf(xn, j, size)
			x := t.x.read(t.path, to, (i+j)*size, size) // [Dk, Dv]
			s := rowStatistics(t.path, x, d.RMS, d.Eps)
			s.save(t.mean, t.rstd, i+j)
			s.scale(t.path, to, x, t.gain)
		}
		out := t.out.target(room, i*outSize, n*outSize) // [n, R, Dv]
		read.multiplyTokens(n, read.dense(), out, t.keys, xn, nil)
		t.out.write(t.path, out, i*outSize)
	}
}

type normReadBackward[T Float] struct {
	dx, addend, dout, x    Rows[T]
	gain, keys, mean, rstd []T
	d                      NormReadParams
	path                   path
	atOnce                 int      // tokens of a call of a micro-kernel
	matrices               [][]T    // the matrices of a normReadWork, for each worker
	rooms                  rooms[T] // for the tokens of dout of a call
	tokens                 pieces
	dgain                  treeSums[T]
	dkeys                  keyProducts[T]
}

// normReadTokens is the largest number of tokens that a normReadWork has room for.
const normReadTokens = 8

// normReadWork is a worker's memory for the tokens that it works on, with their products.
type normReadWork[T Float] struct {
	n          []T // [tokens, Dk, Dv], the normalised matrices without their gain
	xn         []T // [tokens, Dk, Dv], the same with their gain; later room for a bfloat16 dx
	dxn        []T // [tokens, Dk, Dv]
	dout       []T // [tokens, R, Dv], room for a bfloat16 dout
	statistics [normReadTokens]statistics[T]

	worker       int
	store        block[T] // dXn
	dgain, dkeys []T      // to add to; nil if not wanted
}

// Part computes the pieces [lo, hi).
func (t *normReadBackward[T]) Part(worker, lo, hi int) {
	d, dgain, dkeys := t.d, t.dgain.begin(worker), t.dkeys.begin(worker)
	matrices := func(i int) []T { return rowOf(t.matrices[worker], i, t.atOnce*d.Dk*d.Dv) }
	w := normReadWork[T]{n: matrices(0), xn: matrices(1), dxn: matrices(2), dout: t.rooms.part(worker, 0, t.atOnce*d.R*d.Dv), dgain: dgain.block,
		dkeys: dkeys.block, worker: worker, store: newBlock[T](t.path, d.Dk, d.Dv, d.R, true)}
	ahead := t.x.tokensAhead(d.Dk * d.Dv)
	t.tokens.each(lo, hi, func(first, end int) {
		for i := first; i < end; i += t.atOnce {
			n := min(t.atOnce, end-i)
			t.gradients(&w, i, n, ahead)
		}
	}, dgain, dkeys)
}

// gradients computes dx of n tokens from token i on, and adds their terms to the gradients of keys
// and gain.
func (t *normReadBackward[T]) gradients(w *normReadWork[T], i, n, ahead int) {
	size, outSize := t.d.Dk*t.d.Dv, t.d.R*t.d.Dv
	dout := t.dout.read(t.path, w.dout, i*outSize, n*outSize) // [n, R, Dv]
	t.x.prefetchTokens(i+ahead, n, size)
	for j := range n {
		t.normalize(w, i, j)
	}
	t.dout.prefetchTokens(i+ahead, n, outSize)
	if w.dkeys != nil {
		t.dkeys.add(w.worker, n, w.dkeys, dout, w.xn)
	}
	if t.dx.none() && w.dgain == nil {
		return
	}
	t.addend.prefetchTokens(i+ahead, n, size)
	w.store.multiplyTokens(n, w.store.dense(), w.dxn, t.keys, dout, nil)
	for j := range n {
		at := (i + j) * size
		normal, xn, dxn := rowOf(w.n, j, size), rowOf(w.xn, j, size), rowOf(w.dxn, j, size)
		sumH, sumHN := gradientSumsGain(t.path, w.dgain, dxn, t.gain, normal)
		if dx := t.dx.target(xn, at, size); dx != nil {
			normGradient(t.path, dx, t.addend.read(t.path, xn, at, size), dxn, t.gain, normal, sumH, sumHN, w.statistics[j].rstd, t.d.RMS)
			t.dx.write(t.path, dx, at)
		}
	}
}

// normalize computes the normalised matrix of token i+j, with its gain only if the gradient of keys
// is wanted.
func (t *normReadBackward[T]) normalize(w *normReadWork[T], i, j int) {
	size := t.d.Dk * t.d.Dv
	to := rowOf(w.n, j, size)
	x := t.x.read(t.path, to, (i+j)*size, size) // [Dk, Dv]
	s := savedStatistics(t.path, x, t.mean, t.rstd, i+j, t.d.RMS)
	if w.statistics[j] = s; w.dkeys != nil {
		s.normalizeScale(t.path, to, rowOf(w.xn, j, size), x, t.gain)
	} else {
		s.normalize(t.path, to, x)
	}
}
