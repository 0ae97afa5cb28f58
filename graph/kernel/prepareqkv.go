package kernel

// QKVParams says what PrepareQKV does to each token's queries, keys and values.
type QKVParams struct {
	Tokens         int
	Heads, KVHeads int // heads of queries, and of keys and values
	HeadDim        int
	Norm           bool    // normalise queries and keys
	Eps            float64 // epsilon of the norm
}

// kvWidth returns the width of a token's values.
func (d *QKVParams) kvWidth() int { return d.KVHeads * d.HeadDim }

// width returns the width of a token's packed queries, keys and values.
func (d *QKVParams) width() int { return d.Heads*d.HeadDim + 2*d.kvWidth() }

// PrepareQKV changes packed queries, keys and values before attention, in one pass. Queries and
// keys are normalised head by head (RMSNorm with one gain for all heads of queries and one for all
// heads of keys; Henry et al. 2020, arXiv 2010.04245), and another tensor over the same tokens is
// mixed into the values (Zhou et al. 2024, arXiv 2410.17897, value residual):
//
//	q <- q / sqrt(mean(q^2) + eps) * qgain,  k likewise,  v <- weights[0] v + weights[1] v0
type PrepareQKV[T Float] struct {
	forward  prepareTask[T]
	backward prepareGradTask[T]
	path     path
}

// Forward computes y from x, both [tokens, heads + 2 kvHeads, headDim] in the order q, k, v.
// Without Norm the gains [headDim], or [heads, headDim] and [kvHeads, headDim] to normalise all
// heads together, are not read. first [tokens, kvHeads, headDim] is v0; if it is nil, the values do
// not change. weights is [2]; nil: both 0.5. y may be x.
func (k *PrepareQKV[T]) Forward(p *Pool, y, x, qgain, kgain, first, weights []T, d QKVParams) {
	k.forward = prepareTask[T]{y: y, x: x, qgain: qgain, kgain: kgain, first: first, weights: valueWeights(weights), d: d, path: pathOf[T](k.path)}
	p.Do(d.Tokens, &k.forward)
}

// valueWeights returns the weights of a token's own values and of v0.
func valueWeights[T Float](weights []T) [2]T {
	if weights == nil {
		return [2]T{0.5, 0.5}
	}
	return [2]T(weights)
}

type prepareTask[T Float] struct {
	y, x, qgain, kgain, first []T
	weights                   [2]T
	d                         QKVParams
	path                      path
}

func (t *prepareTask[T]) Part(_, lo, hi int) {
	d := &t.d
	q, kv := d.Heads*d.HeadDim, d.kvWidth()
	for i := lo; i < hi; i++ {
		x, y := rowOf(t.x, i, d.width()), rowOf(t.y, i, d.width())
		if d.Norm {
			t.normalize(y[:q], x[:q], t.qgain)
			t.normalize(y[q:q+kv], x[q:q+kv], t.kgain)
		} else {
			copyOver(y[:q+kv], x[:q+kv])
		}
		if t.first == nil {
			copyOver(y[q+kv:], x[q+kv:])
			continue
		}
		scaleTo(t.path, y[q+kv:], x[q+kv:], t.weights[0])
		addMultiple(t.path, y[q+kv:], rowOf(t.first, i, kv), t.weights[1])
	}
}

// copyOver copies x to y unless they are the same slice. A nil x means zero.
func copyOver[E Float | BFloat16](y, x []E) {
	if x == nil {
		clear(y)
	} else if &y[0] != &x[0] {
		copy(y, x)
	}
}

// normalize normalises as many entries at a time as there are gains: each head separately, or all.
func (t *prepareTask[T]) normalize(y, x, gain []T) {
	dim := len(gain)
	for at := 0; at < len(x); at += dim {
		head := x[at : at+dim]
		rowStatistics(t.path, head, true, t.d.Eps).scale(t.path, y[at:at+dim], head, gain)
	}
}

// PrepareQKVGrads holds the slices for the gradients that Backward computes in addition to dx; nil
// if they are not wanted. Those whose flag is set are added to what the slices hold.
type PrepareQKVGrads[T Float] struct {
	QGain, KGain, Weights                               []T // as the gains, [2]
	AccumulateQGain, AccumulateKGain, AccumulateWeights bool
}

// Backward computes dx and further gradients from dy, the gradient of Forward's y. x is read
// if there is a norm or the weights' gradient is wanted. mixed tells whether Forward had
// first, which is read for the weights' gradient. dx may be dy.
func (k *PrepareQKV[T]) Backward(p *Pool, dx []T, g PrepareQKVGrads[T], dy, x, qgain, kgain, first, weights []T, mixed bool, d QKVParams) {
	t := &k.backward
	t.dx, t.grads, t.dy, t.x, t.qgain, t.kgain, t.first, t.d, t.path = dx, g, dy, x, qgain, kgain, first, d, pathOf[T](k.path)
	t.weight = 1
	if mixed {
		t.weight = valueWeights(weights)[0]
	}
	t.normed = growRows(t.normed, p, max(len(qgain), len(kgain)))
	t.dqgain.want(p, t.path, g.QGain, g.AccumulateQGain)
	t.dkgain.want(p, t.path, g.KGain, g.AccumulateKGain)
	t.dweights.set(p, portable, 2)
	t.tokens = pieces{d.Tokens, pieceTokens}
	p.Do(t.tokens.number(), t)
	t.dqgain.store(p)
	t.dkgain.store(p)
	if g.Weights != nil {
		storeTotal(g.Weights, t.dweights.total(p), g.AccumulateWeights)
	}
}

type prepareGradTask[T Float] struct {
	dx, dy, x, qgain, kgain, first []T
	grads                          PrepareQKVGrads[T]
	weight                         T
	d                              QKVParams
	path                           path
	tokens                         pieces
	dqgain, dkgain                 treeSums[T]
	dweights                       treeSums[float64]
	normed                         [][]T // a normalised head for each worker
}

// Part computes the pieces [lo, hi).
func (t *prepareGradTask[T]) Part(worker, lo, hi int) {
	dqgain, dkgain, dweights := t.dqgain.begin(worker), t.dkgain.begin(worker), t.dweights.begin(worker)
	t.tokens.each(lo, hi, func(first, end int) {
		for i := first; i < end; i++ {
			t.token(i, t.normed[worker], dqgain, dkgain, dweights.block)
		}
	}, dqgain, dkgain, dweights)
}

// token computes token i's dx, and adds its terms to the other gradients.
func (t *prepareGradTask[T]) token(i int, normed []T, dqgain, dkgain *treeSum[T], dweights []float64) {
	d := &t.d
	q, kv := d.Heads*d.HeadDim, d.kvWidth()
	x, dx, dy := rowOf(t.x, i, d.width()), rowOf(t.dx, i, d.width()), rowOf(t.dy, i, d.width())
	if d.Norm {
		t.normalize(dx[:q], dy[:q], x[:q], t.qgain, normed, dqgain)
		t.normalize(dx[q:q+kv], dy[q:q+kv], x[q:q+kv], t.kgain, normed, dkgain)
	} else {
		copyOver(dx[:q+kv], dy[:q+kv])
	}
	if t.grads.Weights != nil {
		own, first := dotProducts(t.path, dy[q+kv:], x[q+kv:], rowOf(t.first, i, kv))
		dweights[0] += own
		dweights[1] += first
	}
	if t.weight != 1 {
		scaleTo(t.path, dx[q+kv:], dy[q+kv:], t.weight)
	} else {
		copyOver(dx[q+kv:], dy[q+kv:])
	}
}

// normalize computes the gradient of what Forward normalised, and adds to the gradient of the gain.
func (t *prepareGradTask[T]) normalize(dx, dy, x, gain, normed []T, dgain *treeSum[T]) {
	dim := len(gain)
	normed = normed[:dim]
	for at := 0; at < len(x); at += dim {
		head, dout := x[at:at+dim], dy[at:at+dim]
		s := rowStatistics(t.path, head, true, t.d.Eps)
		s.normalize(t.path, normed, head)
		sumH, sumHN := gradientSumsGain(t.path, dgain.block, dout, gain, normed)
		dgain.added()
		normGradient(t.path, dx[at:at+dim], nil, dout, gain, normed, sumH, sumHN, s.rstd, true)
	}
}
