package kernel

import "math"

// DepthAttentionParams are the sizes of a DepthAttention.
type DepthAttentionParams struct {
	Tokens, Width int     // each source has Tokens x Width elements
	Sources       int     // at least 1
	Eps           float64 // added to a source's mean square
}

func (d DepthAttentionParams) size() int { return d.Tokens * d.Width }

// DepthAttention sums sources, weighted by a softmax over them, separately for each token (Kimi
// 2026, arXiv 2603.15031, attention residuals):
//
//	u = sum over i of a_i v_i,   a = softmax over i of r_i (q . v_i)
//	r_i = 1/sqrt(mean(v_i^2) + Eps),   q = query ⊙ gain
//
// A token's rows of all sources stay in the cache between its scores and its sum, so that each
// source is read from memory once.
type DepthAttention[T Float] struct {
	forward  depthForward[T]
	backward depthBackward[T]
	q        []T // [Width]
	path     path
}

// Forward computes u, and saves weights a and rstd r, both [Tokens, Sources]. If u is nil it
// computes only these.
func (k *DepthAttention[T]) Forward(p *Pool, u, weights, rstd []T, v [][]T, query, gain []T, d DepthAttentionParams) {
	t := &k.forward
	t.u, t.weights, t.rstd, t.v, t.d, t.path = u, weights, rstd, v[:d.Sources], d, pathOf[T](k.path)
	t.q = k.product(query, gain, d)
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
}

func (t *depthForward[T]) Part(_, lo, hi int) {
	n, width := t.d.Sources, t.d.Width
	for token := lo; token < hi; token++ {
		weights, rstd := rowOf(t.weights, token, n), rowOf(t.rstd, token, n)
		for i, v := range t.v {
			row := rowOf(v, token, width)
			squares, score := dotProducts(t.path, row, row, t.q)
			r := 1 / math.Sqrt(squares/float64(width)+t.d.Eps)
			rstd[i], weights[i] = T(r), T(r*score)
		}
		sum := softmaxExp(t.path, weights, softmaxMax(t.path, weights))
		scaleTo(t.path, weights, weights, T(1/sum))
		if t.u != nil {
			sumMultiples(t.path, rowOf(t.u, token, width), weights, t.v, token*width, (token+1)*width)
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
	t.dots, t.rows = growRows(t.dots, p, 2*d.Sources), growRows(t.rows, p, d.Width)
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
	dots                           [][]float64 // [2, Sources] for each worker: da_i, q . v_i
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
	n, width := t.d.Sources, t.d.Width
	weights, rstd, du := rowOf(t.weights, token, n), rowOf(t.rstd, token, n), rowOf(t.du, token, width)
	mean := 0.0
	for i, v := range t.v {
		row := rowOf(v, token, width)
		if du == nil {
			dots[i], dots[n+i] = float64(t.dweights[token*n+i]), dotProduct(t.path, row, t.q)
		} else {
			dots[i], dots[n+i] = dotProducts(t.path, row, du, t.q)
		}
		mean += float64(weights[i]) * dots[i]
	}
	for i, v := range t.v {
		r := float64(rstd[i])
		c := float64(weights[i]) * (dots[i] - mean) * r
		row := rowOf(v, token, width)
		addMultiple(t.path, dq.block, row, T(c))
		dq.added()
		if t.g.V[i] != nil {
			t.source(i, token, scratch, du, row, weights[i], T(c), T(-c*r*r*dots[n+i]/float64(width)))
		}
	}
}

// source computes a token's row of dv_i = addend + (a du + c q + own v_i). With an addend it uses
// row as scratch memory.
func (t *depthBackward[T]) source(i, token int, row, du, v []T, a, c, own T) {
	dv, addend := rowOf(t.g.V[i], token, t.d.Width), rowOf(t.g.Addends[i], token, t.d.Width)
	to := dv
	if addend != nil {
		to = row
	}
	if du != nil {
		scaleTo(t.path, to, du, a)
	} else {
		clear(to)
	}
	addTwoMultiples(t.path, to, t.q, v, c, own)
	if addend != nil {
		setSum(t.path, dv, addend, row)
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
