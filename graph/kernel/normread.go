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
// The normalised matrices are never stored: a worker computes one token's matrix at a time in
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
	t.xn = growRows(t.xn, p, d.Dk*d.Dv)
	t.rooms.ready(p, d.R*d.Dv, out)
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
func (k *NormRead[T]) Backward(p *Pool, dx, addend Rows[T], dgain, dkeys []T, dout, x Rows[T], gain, keys, mean, rstd []T, accumulateGain, accumulateKeys bool, d NormReadParams) {
	t := &k.backward
	t.dx, t.addend, t.dout, t.x, t.gain, t.keys, t.mean, t.rstd, t.d = dx, addend, dout, x, gain[:d.Dk*d.Dv], keys, mean, rstd, d
	t.path = pathOf[T](k.path)
	t.matrices = growRows(t.matrices, p, 3*d.Dk*d.Dv)
	t.rooms.ready(p, d.R*d.Dv, dout)
	t.dgain.want(p, t.path, dgain, accumulateGain)
	t.dkeys.want(p, t.path, dkeys, accumulateKeys, d.R, d.Dk, d.Dv)
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
	xn                     [][]T    // a normalised matrix for each worker
	rooms                  rooms[T] // for a token of out
}

func (t *normReadForward[T]) Part(worker, lo, hi int) {
	d, xn := t.d, t.xn[worker]
	size, outSize := d.Dk*d.Dv, d.R*d.Dv
	read := newBlock[T](t.path, d.R, d.Dv, d.Dk, false)
	ahead, room := t.x.tokensAhead(size), t.rooms.part(worker, 0, outSize)
	for i := lo; i < hi; i++ {
		t.x.prefetchToken(i+ahead, size)
		x := t.x.read(t.path, xn, i*size, size) // [Dk, Dv]
		s := rowStatistics(t.path, x, d.RMS, d.Eps)
		s.save(t.mean, t.rstd, i)
		s.scale(t.path, xn, x, t.gain)
		out := t.out.target(room, i*outSize, outSize)
		read.multiply(out, t.keys, xn, nil)
		t.out.write(t.path, out, i*outSize)
	}
}

type normReadBackward[T Float] struct {
	dx, addend, dout, x    Rows[T]
	gain, keys, mean, rstd []T
	d                      NormReadParams
	path                   path
	matrices               [][]T    // the matrices of a normReadToken, for each worker
	rooms                  rooms[T] // for a token of dout
	tokens                 pieces
	dgain                  treeSums[T]
	dkeys                  keyProducts[T]
}

// normReadToken is a worker's memory for the token that it works on, with the token's products.
type normReadToken[T Float] struct {
	n    []T // [Dk, Dv], the normalised matrix without its gain
	xn   []T // [Dk, Dv], the same with its gain; later room for a bfloat16 dx
	dxn  []T // [Dk, Dv]
	dout []T // [R, Dv], room for a bfloat16 dout

	worker       int
	store        block[T] // dXn
	dgain, dkeys []T      // to add to; nil if not wanted
}

// Part computes the pieces [lo, hi).
func (t *normReadBackward[T]) Part(worker, lo, hi int) {
	d, dgain, dkeys := t.d, t.dgain.begin(worker), t.dkeys.begin(worker)
	matrix := func(i int) []T { return rowOf(t.matrices[worker], i, d.Dk*d.Dv) }
	w := normReadToken[T]{n: matrix(0), xn: matrix(1), dxn: matrix(2), dout: t.rooms.part(worker, 0, d.R*d.Dv), dgain: dgain.block, dkeys: dkeys.block,
		worker: worker, store: newBlock[T](t.path, d.Dk, d.Dv, d.R, true)}
	ahead := t.x.tokensAhead(d.Dk * d.Dv)
	t.tokens.each(lo, hi, func(first, end int) {
		for i := first; i < end; i++ {
			t.token(&w, i, ahead)
		}
	}, dgain, dkeys)
}

// token computes dx of token i, and adds its terms to the gradients of keys and gain.
func (t *normReadBackward[T]) token(w *normReadToken[T], i, ahead int) {
	d := t.d
	size, outSize := d.Dk*d.Dv, d.R*d.Dv
	t.x.prefetchToken(i+ahead, size)
	dout := t.dout.read(t.path, w.dout, i*outSize, outSize) // [R, Dv]
	x := t.x.read(t.path, w.n, i*size, size)                // [Dk, Dv]
	s := savedStatistics(t.path, x, t.mean, t.rstd, i, d.RMS)
	if w.dkeys != nil {
		s.normalizeScale(t.path, w.n, w.xn, x, t.gain)
		t.dout.prefetchToken(i+ahead, outSize)
		t.dkeys.add(w.worker, w.dkeys, dout, w.xn)
	} else {
		s.normalize(t.path, w.n, x)
		t.dout.prefetchToken(i+ahead, outSize)
	}
	dx := t.dx.target(w.xn, i*size, size)
	if dx == nil && w.dgain == nil {
		return
	}
	t.addend.prefetchToken(i+ahead, size)
	w.store.multiply(w.dxn, t.keys, dout, nil)
	sumH, sumHN := gradientSumsGain(t.path, w.dgain, w.dxn, t.gain, w.n)
	if dx != nil {
		normGradient(t.path, dx, t.addend.read(t.path, w.xn, i*size, size), w.dxn, t.gain, w.n, sumH, sumHN, s.rstd, d.RMS)
		t.dx.write(t.path, dx, i*size)
	}
}

// multiplyPortable computes out = a * b, element by element.
func multiplyPortable[T Float](out, a, b []T) {
	a, b = a[:len(out)], b[:len(out)]
	for j, v := range a {
		out[j] = v * b[j]
	}
}
