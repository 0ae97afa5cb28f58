package kernel

import "math"

// DepthAttentionParams are the sizes of a DepthAttention.
type DepthAttentionParams struct {
	Tokens, Width int     // each source has Tokens x Width elements
	Sources       int     // at least 1
	Eps           float64 // added to a source's mean square
	Heads         int     // divides Width; 0: 1
}

func (d DepthAttentionParams) heads() int { return max(1, d.Heads) }

// weights returns the number of weights: a token's lie in the order head, source.
func (d DepthAttentionParams) weights() int { return d.heads() * d.Sources }

// columns returns the columns of a head.
func (d DepthAttentionParams) columns(head int) (from, to int) {
	width := d.Width / d.heads()
	return head * width, (head + 1) * width
}

func (d DepthAttentionParams) size() int { return d.Tokens * d.Width }

// DepthAttention sums sources, weighted by a softmax over them, separately for each token (Kimi
// 2026, arXiv 2603.15031, attention residuals):
//
//	u = sum over i of a_i v_i,   a = softmax over i of r_i (q . v_i)
//	r_i = 1/sqrt(mean(v_i^2) + Eps),   q = query ⊙ gain
//
// With several heads (arXiv 2607.27230) each reads its own part of the columns by a softmax of its
// own, over the scores of these columns; r_i stays that of whole rows.
//
// A token's rows of all sources stay in the cache between its scores and its sum, so that each
// source is read from memory once.
type DepthAttention[T Float] struct {
	forward  depthForward[T]
	backward depthBackward[T]
	q        []T // [Width]
	path     path
}

// Forward computes u, and saves weights a [Tokens, Heads, Sources] and rstd r [Tokens, Sources]. If
// u is nil it computes only these.
func (k *DepthAttention[T]) Forward(p *Pool, u, weights, rstd []T, v [][]T, query, gain []T, d DepthAttentionParams) {
	t := &k.forward
	t.u, t.weights, t.rstd, t.v, t.d, t.path = u, weights, rstd, v[:d.Sources], d, pathOf[T](k.path)
	t.q, t.scores = k.product(query, gain, d), growRows(t.scores, p, d.heads())
	p.Do(d.Tokens, t)
}

// product computes q.
func (k *DepthAttention[T]) product(query, gain []T, d DepthAttentionParams) []T {
	k.q = grow(k.q, d.Width)
	for j, w := range query[:d.Width] {
		k.q[j] = w * gain[j]
	}
	return k.q
}

type depthForward[T Float] struct {
	u, weights, rstd, q []T
	v                   [][]T
	d                   DepthAttentionParams
	path                path
	scores              [][]float64 // [Heads] for each worker: q . v_i of one source
}

func (t *depthForward[T]) Part(worker, lo, hi int) {
	for token := lo; token < hi; token++ {
		t.score(token, t.scores[worker][:t.d.heads()])
		for head := range t.d.heads() {
			from, to := t.d.columns(head)
			weights := rowOf(t.weights, token*t.d.heads()+head, t.d.Sources)
			sum := softmaxExp(t.path, weights, softmaxMax(t.path, weights))
			scaleTo(t.path, weights, weights, T(1/sum))
			if row := token * t.d.Width; t.u != nil {
				sumMultiples(t.path, t.u[row+from:row+to], weights, t.v, row+from, row+to)
			}
		}
	}
}

// score computes a token's r and scores.
func (t *depthForward[T]) score(token int, dots []float64) {
	weights, rstd := rowOf(t.weights, token, t.d.weights()), rowOf(t.rstd, token, t.d.Sources)
	for i, v := range t.v {
		row, squares := rowOf(v, token, t.d.Width), 0.0
		for head := range dots {
			from, to := t.d.columns(head)
			own, dot := dotProducts(t.path, row[from:to], row[from:to], t.q[from:to])
			squares, dots[head] = squares+own, dot
		}
		r := 1 / math.Sqrt(squares/float64(t.d.Width)+t.d.Eps)
		rstd[i] = T(r)
		for head, dot := range dots {
			weights[head*t.d.Sources+i] = T(r * dot)
		}
	}
}

// DepthGradients holds the slices that Backward fills. Each may be nil, or have nil entries, if it
// is not wanted.
type DepthGradients[T Float] struct {
	V, Addends                      [][]T // gradients of the sources; Addends are added to them, and may be the same slices
	Query, Gain                     []T   // [Width]
	AccumulateQuery, AccumulateGain bool  // add to what the slices hold
}

// Backward computes the gradients from du, the gradient of u, or from dweights, the gradient of the
// weights of a Forward without u; the other one is nil. For each token
//
//	da_i = du . v_i,   ds_i = a_i (da_i - sum over j of a_j da_j),   c_i = ds_i r_i
//	dv_i = a_i du + c_i q - c_i r_i^2 (q . v_i) / Width v_i
//	dquery = gain ⊙ dq,   dgain = query ⊙ dq,   dq = sum over tokens and i of c_i v_i
func (k *DepthAttention[T]) Backward(p *Pool, g DepthGradients[T], du, dweights, weights, rstd []T, v [][]T, query, gain []T, d DepthAttentionParams) {
	t := &k.backward
	t.g, t.du, t.dweights, t.weights, t.rstd, t.v, t.d, t.path = g, du, dweights, weights, rstd, v[:d.Sources], d, pathOf[T](k.path)
	t.q = k.product(query, gain, d)
	t.dots, t.rows = growRows(t.dots, p, 2*d.weights()), growRows(t.rows, p, d.Width)
	t.dq.set(p, t.path, d.Width)
	t.tokens = pieces{d.Tokens, pieceTokens}
	p.Do(t.tokens.number(), t)
	if g.Query != nil || g.Gain != nil {
		t.store(t.dq.total(p), query, gain)
	}
}

type depthBackward[T Float] struct {
	g                              DepthGradients[T]
	du, dweights, weights, rstd, q []T
	v                              [][]T
	d                              DepthAttentionParams
	path                           path
	tokens                         pieces
	dots                           [][]float64 // [2, Heads, Sources] for each worker: da_i, q . v_i
	rows                           [][]T       // [Width] for each worker
	dq                             treeSums[T]
}

func (t *depthBackward[T]) Part(worker, lo, hi int) {
	dq := t.dq.begin(worker)
	t.tokens.each(lo, hi, func(first, end int) {
		for token := first; token < end; token++ {
			t.token(token, t.dots[worker], t.rows[worker], dq)
		}
	}, dq)
}

func (t *depthBackward[T]) token(token int, dots []float64, scratch []T, dq *treeSum[T]) {
	n, all := t.d.Sources, t.d.weights()
	da, along := dots[:all], dots[all:2*all]
	weights, rstd, du := rowOf(t.weights, token, all), rowOf(t.rstd, token, n), rowOf(t.du, token, t.d.Width)
	for i, v := range t.v {
		row := rowOf(v, token, t.d.Width)
		for head := range t.d.heads() {
			from, to := t.d.columns(head)
			if at := head*n + i; du == nil {
				da[at], along[at] = float64(t.dweights[token*all+at]), dotProduct(t.path, row[from:to], t.q[from:to])
			} else {
				da[at], along[at] = dotProducts(t.path, row[from:to], du[from:to], t.q[from:to])
			}
		}
	}
	for head := range t.d.heads() {
		mean := 0.0
		for at := head * n; at < (head+1)*n; at++ {
			mean += float64(weights[at]) * da[at]
		}
		for at := head * n; at < (head+1)*n; at++ {
			da[at] = float64(weights[at]) * (da[at] - mean) * float64(rstd[at-head*n]) // c_i
		}
	}
	for i, v := range t.v {
		t.source(i, token, depthTerms[T]{weights: weights, c: da, along: along, r: float64(rstd[i])}, scratch, du, rowOf(v, token, t.d.Width), dq)
	}
}

// depthTerms are a token's weights and coefficients, [Heads, Sources] each, and r of one source.
type depthTerms[T Float] struct {
	weights  []T
	c, along []float64
	r        float64
}

// source adds a token's part of dq, and computes its row of dv_i = addend + (a du + c q + own v_i),
// own being -sum over heads of c r^2 (q . v_i) / Width. With an addend it uses scratch.
func (t *depthBackward[T]) source(i, token int, x depthTerms[T], scratch, du, v []T, dq *treeSum[T]) {
	own := 0.0
	for head := range t.d.heads() {
		from, to := t.d.columns(head)
		at := head*t.d.Sources + i
		addMultiple(t.path, dq.block[from:to], v[from:to], T(x.c[at]))
		own += -x.c[at] * x.r * x.r * x.along[at] / float64(t.d.Width)
	}
	dq.added()
	if t.g.V[i] == nil {
		return
	}
	dv, addend := rowOf(t.g.V[i], token, t.d.Width), rowOf(t.g.Addends[i], token, t.d.Width)
	to := dv
	if addend != nil {
		to = scratch
	}
	for head := range t.d.heads() {
		from, end := t.d.columns(head)
		at := head*t.d.Sources + i
		if du != nil {
			scaleTo(t.path, to[from:end], du[from:end], x.weights[at])
		} else {
			clear(to[from:end])
		}
		addTwoMultiples(t.path, to[from:end], t.q[from:end], v[from:end], T(x.c[at]), T(own))
	}
	if addend != nil {
		setSum(t.path, dv, addend, scratch)
	}
}

// store computes the gradients of query and gain from dq.
func (t *depthBackward[T]) store(dq []float64, query, gain []T) {
	for j, sum := range dq {
		if t.g.Query != nil {
			store(&t.g.Query[j], float64(gain[j])*sum, t.g.AccumulateQuery)
		}
		if t.g.Gain != nil {
			store(&t.g.Gain[j], float64(query[j])*sum, t.g.AccumulateGain)
		}
	}
}
