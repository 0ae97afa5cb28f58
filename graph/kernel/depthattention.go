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

// headWidth returns the number of a head's columns.
func (d DepthAttentionParams) headWidth() int { return d.Width / d.heads() }

func (d DepthAttentionParams) size() int { return d.Tokens * d.Width }

// DepthAttention sums sources, weighted by a softmax over them, separately for each token (Kimi
// 2026, arXiv 2603.15031, attention residuals):
//
//	u = sum over i of a_i v_i,   a = softmax over i of r_i (q . v_i)
//	r_i = 1/sqrt(mean(v_i^2) + Eps),   q = query ⊙ gain
//
// With several heads (arXiv 2607.27230) each reads its own part of the columns by a softmax of its
// own, over the scores of these columns; r_i is still taken over whole rows.
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
	heads, width := t.d.heads(), t.d.headWidth()
	for token := lo; token < hi; token++ {
		t.score(token, t.scores[worker][:heads])
		for part := token * heads; part < (token+1)*heads; part++ {
			weights := rowOf(t.weights, part, t.d.Sources)
			sum := softmaxExp(t.path, weights, softmaxMax(t.path, weights))
			scaleTo(t.path, weights, weights, T(1/sum))
			if t.u != nil {
				sumMultiples(t.path, rowOf(t.u, part, width), weights, t.v, part*width, (part+1)*width)
			}
		}
	}
}

// score computes a token's r and scores.
func (t *depthForward[T]) score(token int, dots []float64) {
	weights, rstd := rowOf(t.weights, token, t.d.weights()), rowOf(t.rstd, token, t.d.Sources)
	width := t.d.headWidth()
	for i, v := range t.v {
		row, squares := rowOf(v, token, t.d.Width), 0.0
		for head := range dots {
			part := rowOf(row, head, width)
			own, dot := dotProducts(t.path, part, part, rowOf(t.q, head, width))
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
	t.dots = growRows(t.dots, p, 2*d.weights())
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
	dq                             treeSums[T]
}

func (t *depthBackward[T]) Part(worker, lo, hi int) {
	dq := t.dq.begin(worker)
	t.tokens.each(lo, hi, func(first, end int) {
		for token := first; token < end; token++ {
			t.token(token, t.dots[worker], dq)
		}
	}, dq)
}

func (t *depthBackward[T]) token(token int, dots []float64, dq *treeSum[T]) {
	n, all := t.d.Sources, t.d.weights()
	da, along := dots[:all], dots[all:2*all]
	x := depthToken[T]{weights: rowOf(t.weights, token, all), rstd: rowOf(t.rstd, token, n), c: da, along: along,
		du: rowOf(t.du, token, t.d.Width)}
	t.products(token, x)
	for head := range t.d.heads() {
		mean := 0.0
		for at := head * n; at < (head+1)*n; at++ {
			mean += float64(x.weights[at]) * da[at]
		}
		for at := head * n; at < (head+1)*n; at++ {
			da[at] = float64(x.weights[at]) * (da[at] - mean) * float64(x.rstd[at-head*n]) // c_i
		}
	}
	t.addQuery(token, x, dq)
	for i := range t.v {
		if t.g.V[i] != nil {
			t.source(i, token, x)
		}
	}
}

// depthToken holds a token's weights, c and along (the q . v_i), each [Heads, Sources], its r
// [Sources], and its du, nil if there is none.
type depthToken[T Float] struct {
	weights, rstd, du []T
	c, along          []float64 // c holds da before
}

// products computes da and the q . v_i.
func (t *depthBackward[T]) products(token int, x depthToken[T]) {
	heads, width := t.d.heads(), t.d.headWidth()
	for i, v := range t.v {
		row := rowOf(v, token, t.d.Width)
		for head := range heads {
			part, q, at := rowOf(row, head, width), rowOf(t.q, head, width), head*t.d.Sources+i
			if x.du == nil {
				x.c[at], x.along[at] = float64(t.dweights[token*heads*t.d.Sources+at]), dotProduct(t.path, part, q)
			} else {
				x.c[at], x.along[at] = dotProducts(t.path, part, rowOf(x.du, head, width), q)
			}
		}
	}
}

// addQuery adds a token's part of dq, the sources two at a time.
func (t *depthBackward[T]) addQuery(token int, x depthToken[T], dq *treeSum[T]) {
	heads, width, n := t.d.heads(), t.d.headWidth(), t.d.Sources
	for i := 0; i < n; i += 2 {
		for head := range heads {
			sum, at, part := rowOf(dq.block, head, width), head*n+i, token*heads+head
			if i+1 < n {
				addTwoMultiples(t.path, sum, rowOf(t.v[i], part, width), rowOf(t.v[i+1], part, width), T(x.c[at]), T(x.c[at+1]))
			} else {
				addMultiple(t.path, sum, rowOf(t.v[i], part, width), T(x.c[at]))
			}
		}
		dq.added()
		dq.added()
	}
}

// source computes a token's row of dv_i = addend + (a du + c q + own v_i), own being -sum over
// heads of c r^2 (q . v_i) / Width.
func (t *depthBackward[T]) source(i, token int, x depthToken[T]) {
	heads, width, own, r := t.d.heads(), t.d.headWidth(), 0.0, float64(x.rstd[i])
	for at := i; at < heads*t.d.Sources; at += t.d.Sources {
		own += -x.c[at] * r * r * x.along[at] / float64(t.d.Width)
	}
	for head := range heads {
		at, part := head*t.d.Sources+i, token*heads+head
		dv, addend := rowOf(t.g.V[i], part, width), rowOf(t.g.Addends[i], part, width)
		q, v, c := rowOf(t.q, head, width), rowOf(t.v[i], part, width), T(x.c[at])
		switch {
		case x.du == nil && addend == nil:
			clear(dv)
			addTwoMultiples(t.path, dv, q, v, c, T(own))
		case x.du == nil:
			addThreeMultiples(t.path, dv, addend, q, v, v, c, T(own), 0)
		case addend == nil:
			scaleTo(t.path, dv, rowOf(x.du, head, width), x.weights[at])
			addTwoMultiples(t.path, dv, q, v, c, T(own))
		default:
			addThreeMultiples(t.path, dv, addend, rowOf(x.du, head, width), q, v, x.weights[at], c, T(own))
		}
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
