package kernel

// NormReadParams are the sizes of a NormRead.
type NormReadParams struct {
	Tokens int     // T
	R      int     // key vectors, each making one read
	Dk, Dv int     // the matrix stream of a token is Dk x Dv
	RMS    bool    // RMSNorm instead of LayerNorm
	Eps    float64 // added to the variance, or to the mean square
}

// NormRead normalises the matrix of each token over all of its Dk*Dv entries jointly and
// reads it with key vectors (Mak & Flanigan 2025, arXiv 2506.22696, eq. 22 and 25):
//
//	Xn_t = Norm(X_t) * gain                      [Dk, Dv], the norms are those of Norm
//	out_t[r, dv] = sum over dk of keys[r, dk] Xn_t[dk, dv]
//
// The normalised matrices are never stored: a worker makes that of one token in its
// scratch memory, in Backward again. There is no bias.
type NormRead[T Float] struct {
	// Addend, where not nil, is added to Backward's dx; dx may be Addend itself (see Norm).
	Addend []T

	forward  normReadForward[T]
	backward normReadBackward[T]
	path     path
}

// Forward computes out [tokens, R, Dv] from x [tokens, Dk, Dv], gain [Dk, Dv] and
// keys [R, Dk], and saves mean and rstd [tokens] for Backward. RMSNorm does not use
// mean, which may be nil then.
func (k *NormRead[T]) Forward(p *Pool, out, x, gain, keys, mean, rstd []T, d NormReadParams) {
	t := &k.forward
	t.out, t.x, t.gain, t.keys, t.mean, t.rstd, t.d = out, x, gain[:d.Dk*d.Dv], keys, mean, rstd, d
	t.path = pathOf[T](k.path)
	t.workers = growKept(t.workers, p.Threads())
	p.Do(d.Tokens, t)
}

// Backward computes the gradients of Forward's x, gain and keys from dout, that of out:
//
//	dXn_t = keys^T dout_t                              [Dk, Dv]
//	dX_t, dgain: those of Norm with dy = dXn_t
//	dkeys = sum over tokens of dout_t Xn_t^T           [R, Dk]
//
// Each of dx, dgain and dkeys may be nil: not wanted. accumulateGain (accumulateKeys)
// says that dgain (dkeys) is added to what the slice holds; dx is always overwritten.
// dx may be x.
func (k *NormRead[T]) Backward(p *Pool, dx, dgain, dkeys, dout, x, gain, keys, mean, rstd []T, accumulateGain, accumulateKeys bool, d NormReadParams) {
	t := &k.backward
	t.dx, t.dout, t.x, t.gain, t.keys, t.mean, t.rstd, t.d = dx, dout, x, gain[:d.Dk*d.Dv], keys, mean, rstd, d
	t.addend = k.Addend
	t.wantGain, t.wantKeys = dgain != nil, dkeys != nil
	t.path = pathOf[T](k.path)
	t.workers = growKept(t.workers, p.Threads())
	t.dgain.set(p, t.path, d.Dk*d.Dv)
	t.dkeys.set(p, t.path, d.R*d.Dk)
	t.tokens = pieces{d.Tokens, pieceTokens}
	p.Do(t.tokens.number(), t)
	if t.wantGain {
		t.dgain.store(p, dgain[:d.Dk*d.Dv], accumulateGain)
	}
	if t.wantKeys {
		t.dkeys.store(p, dkeys[:d.R*d.Dk], accumulateKeys)
	}
}

// normReadScratch is one worker's memory for the token that it works on.
type normReadScratch[T Float] struct {
	n          []T // [Dk, Dv], the normalised matrix without its gain
	xn         []T // [Dk, Dv], with its gain
	transposed []T // [Dv, Dk], xn transposed
	dxn        []T // [Dk, Dv]
}

type normReadForward[T Float] struct {
	out, x, gain, keys, mean, rstd []T
	d                              NormReadParams
	path                           path
	workers                        []normReadScratch[T]
}

func (t *normReadForward[T]) Part(worker, lo, hi int) {
	d, w := t.d, &t.workers[worker]
	size, outSize := d.Dk*d.Dv, d.R*d.Dv
	w.xn = grow(w.xn, size)
	read := newReadTask(t.path, t.out, t.keys, w.xn, d.R, d.Dk, d.Dv).block
	read.tile.b = &w.xn[0]
	ahead := tokensAhead[T](size)
	for i := lo; i < hi; i++ {
		prefetchToken(t.x, i+ahead, size)
		x := t.x[i*size : (i+1)*size]           // [Dk, Dv]
		out := t.out[i*outSize : (i+1)*outSize] // [R, Dv]
		s := rowStatistics(t.path, x, d.RMS, d.Eps)
		s.save(t.mean, t.rstd, i)
		s.scale(t.path, w.xn, x, t.gain)
		read.tile.c, read.tile.d = &out[0], &out[0]
		read.run()
	}
}

type normReadBackward[T Float] struct {
	dx, dout, x, gain, keys, mean, rstd []T
	addend                              []T
	wantGain, wantKeys                  bool
	d                                   NormReadParams
	path                                path
	workers                             []normReadScratch[T]
	tokens                              pieces
	dgain, dkeys                        treeSums[T]
}

// Part works on some pieces.
func (t *normReadBackward[T]) Part(worker, lo, hi int) {
	d, w := t.d, &t.workers[worker]
	size := d.Dk * d.Dv
	w.n, w.xn, w.transposed, w.dxn = grow(w.n, size), grow(w.xn, size), grow(w.transposed, size), grow(w.dxn, size)
	store := newWriteTask(t.path, w.dxn, nil, t.keys, t.dout, d.R, d.Dk, d.Dv).block
	store.tile.c, store.tile.d = &w.dxn[0], &w.dxn[0]
	dgain, dkeys := t.dgain.begin(worker), t.dkeys.begin(worker)
	keys := newKeysBlock[T](t.path, d.R, d.Dk, d.Dv)
	keys.tile.b, keys.tile.beta = &w.transposed[0], 1
	keys.tile.c = &dkeys.block[0]
	keys.tile.d = keys.tile.c
	for piece := lo; piece < hi; piece++ {
		first, end := t.tokens.items(piece)
		t.piece(w, &store, &keys, dgain.block, first, end)
		if t.wantGain {
			dgain.end(piece)
		}
		if t.wantKeys {
			dkeys.end(piece)
		}
	}
}

// piece works on the tokens [first, end), and adds their terms of the keys' gradient and of dgain.
func (t *normReadBackward[T]) piece(w *normReadScratch[T], store, keys *block[T], dgain []T, first, end int) {
	d := t.d
	size, outSize := d.Dk*d.Dv, d.R*d.Dv
	ahead := tokensAhead[T](size)
	for i := first; i < end; i++ {
		prefetchToken(t.x, i+ahead, size)
		dout := t.dout[i*outSize : (i+1)*outSize] // [R, Dv]
		x := t.x[i*size : (i+1)*size]             // [Dk, Dv]
		s := savedStatistics(t.path, x, t.mean, t.rstd, i, d.RMS)
		if t.wantKeys {
			s.normalizeScale(t.path, w.n, w.xn, x, t.gain)
			prefetchToken(t.dout, i+ahead, outSize)
			t.addKeys(keys, w, dout)
		} else {
			s.normalize(t.path, w.n, x)
			prefetchToken(t.dout, i+ahead, outSize)
		}
		if t.dx == nil && !t.wantGain {
			continue
		}
		prefetchToken(t.addend, i+ahead, size)
		store.tile.b = &dout[0]
		store.run()
		t.addGradients(w, dgain, i, s.rstd)
	}
}

// addKeys adds one token's dout Xn^T to the gradient of the keys.
func (t *normReadBackward[T]) addKeys(keys *block[T], w *normReadScratch[T], dout []T) {
	transpose(keys.kernels.path, w.transposed, t.d.Dk, w.xn, t.d.Dv, t.d.Dk, t.d.Dv)
	keys.tile.a = &dout[0]
	keys.run()
}

// addGradients makes token i's dx from dXn, and adds its part of dgain.
func (t *normReadBackward[T]) addGradients(w *normReadScratch[T], dgain []T, i int, rstd T) {
	if !t.wantGain {
		dgain = nil
	}
	sumH, sumHN := gradientSumsGain(t.path, dgain, w.dxn, t.gain, w.n)
	if size := len(w.n); t.dx != nil {
		normGradient(t.path, t.dx[i*size:(i+1)*size], rowOf(t.addend, i, size), w.dxn, t.gain, w.n, sumH, sumHN, rstd, t.d.RMS)
	}
}

// multiply computes out = a * b, element by element.
func multiply[T Float](p path, out, a, b []T) {
	if p > portable {
		fastMultiply(p, out, a, b)
		return
	}
	a, b = a[:len(out)], b[:len(out)]
	for j, v := range a {
		out[j] = v * b[j]
	}
}
