package kernel

// AttentionPattern computes the probabilities of causal attention as whole matrices, for code that
// looks at them or changes them:
//
//	P_ij = softmax_j(Scale q_i.k_j - Slopes[h] (i - j)) over the keys j that query i sees; else 0
//
// Attention computes the same P without storing it. One worker computes each (batch, head) pair, or
// in Backward each group of them, so that the results have the same bits for any number of threads.
type AttentionPattern[T Float] struct {
	Rope *RopeTable[T] // shared with other kernels; nil: a table of its own

	d      AttentionParams
	starts []int32
	qkv    []T  // [batch*seq, heads + 2 kvHeads, headDim]
	prob   []T  // [batch*seq, heads, seq]: query, head, key
	dprob  []T  // like prob; nil unless Backward runs
	dqkv   []T  // like qkv; nil unless Backward runs
	raw    bool // the scores before the softmax are computed instead of the probabilities (AttentionStages)

	rope    *RopeTable[T]
	workers []patternWorker[T]
	path    path
	rows    path // settled by pathOf
}

// patternWorker is the scratch of one worker.
type patternWorker[T Float] struct {
	gemm   Gemm[T]
	q, k   []T // [seq, Dh], rotated
	dq, dk []T // [seq, Dh]; dq, dk and ds only for Backward
	ds     []T // [attentionQueries, seq]: the gradient of the logits
	slopes []T // [attentionQueries, seq]: the derivatives of the soft cap; with capped, only there
	capped []T // [seq]
	_      [cacheLine]byte
}

// Forward computes prob [batch*seq, heads, seq] from qkv [batch*seq, heads + 2 kvHeads, headDim]
// and starts [batch*seq], which have the same meaning as in Attention.Forward; starts may be nil.
func (a *AttentionPattern[T]) Forward(p *Pool, prob, qkv []T, starts []int32, d AttentionParams) {
	defer a.release()
	a.d, a.starts, a.prob, a.qkv = d, starts, prob, qkv
	a.plan(p)
	p.Do(d.Batch*d.Heads, (*patternPairs[T])(a))
}

// Backward computes every element of dqkv [batch*seq, heads + 2 kvHeads, headDim] from dprob
// [batch*seq, heads, seq] and from what Forward read and wrote:
//
//	dS_ij = P_ij (dP_ij - sum_k P_ik dP_ik)
//	dq_i = Scale sum_j dS_ij k_j   dk_j = Scale sum_i dS_ij q_i   dv_j = 0
//
// With rotary positions q and k are the rotated ones, and dq, dk are rotated back. For heads that
// share keys, dk is summed in the order of heads.
func (a *AttentionPattern[T]) Backward(p *Pool, dqkv, qkv, prob, dprob []T, starts []int32, d AttentionParams) {
	defer a.release()
	a.d, a.starts, a.prob, a.qkv = d, starts, prob, qkv
	a.dqkv, a.dprob = dqkv, dprob
	a.plan(p)
	p.Do(d.groups(), (*patternGradGroups[T])(a))
}

func (a *AttentionPattern[T]) plan(p *Pool) {
	a.rows = pathOf[T](a.path)
	a.rope = a.Rope.orOwn(a.rope)
	a.rope.extend(a.d.RopeBase, a.d.RopeStretch, a.d.HeadDim, a.d.Seq)
	a.workers = growKept(a.workers, max(p.Threads(), len(a.workers)))
	size := a.d.Seq * a.d.HeadDim
	for i := range p.Threads() {
		w := &a.workers[i]
		w.gemm.path = a.path
		w.q, w.k = grow(w.q, size), grow(w.k, size)
		if a.dqkv != nil {
			w.dq, w.dk = grow(w.dq, size), grow(w.dk, size)
			w.ds = grow(w.ds, min(attentionQueries, a.d.Seq)*a.d.Seq)
			if a.d.SoftCap > 0 {
				w.slopes, w.capped = grow(w.slopes, len(w.ds)), grow(w.capped, a.d.Seq)
			}
		}
	}
}

// release drops the slices of a backward pass.
func (a *AttentionPattern[T]) release() {
	a.dprob, a.dqkv = nil, nil
}

// patternPairs gives every worker whole (batch, head) pairs.
type patternPairs[T Float] AttentionPattern[T]

func (t *patternPairs[T]) Part(worker, lo, hi int) {
	a := (*AttentionPattern[T])(t)
	for pair := lo; pair < hi; pair++ {
		row, head := pair/a.d.Heads, pair%a.d.Heads
		a.copyTokens(&a.workers[worker], row, head)
		for i0 := 0; i0 < a.d.Seq; i0 += attentionQueries {
			a.softmaxBlock(&a.workers[worker], row, head, i0, min(i0+attentionQueries, a.d.Seq))
		}
	}
}

// patternGradGroups gives every worker whole groups of (batch, head) pairs.
type patternGradGroups[T Float] AttentionPattern[T]

func (t *patternGradGroups[T]) Part(worker, lo, hi int) {
	a := (*AttentionPattern[T])(t)
	w := &a.workers[worker]
	group := a.d.group()
	for pair := lo * group; pair < hi*group; pair++ {
		row, head := pair/a.d.Heads, pair%a.d.Heads
		a.copyTokens(w, row, head)
		if pair%group == 0 {
			clear(w.dk)
		}
		for i0 := 0; i0 < a.d.Seq; i0 += attentionQueries {
			a.gradientBlock(w, row, head, i0, min(i0+attentionQueries, a.d.Seq))
		}
		a.writeGradients(w, row, head, pair%group == group-1)
	}
}

// copyTokens copies the queries and keys of a pair, rotated if there are rotary positions.
func (a *AttentionPattern[T]) copyTokens(w *patternWorker[T], row, head int) {
	queries, keys, _, ld := packed(&a.d, a.qkv, row, head)
	dim := a.d.HeadDim
	for i := range a.d.Seq {
		a.rope.rotate(w.q[i*dim:], queries[i*ld:], i)
		a.rope.rotate(w.k[i*dim:], keys[i*ld:], i)
	}
}

// softmaxBlock computes the probabilities of the queries i0:i1, none of which sees a key from i1
// on.
func (a *AttentionPattern[T]) softmaxBlock(w *patternWorker[T], row, head, i0, i1 int) {
	dim, ld := a.d.HeadDim, a.d.Heads*a.d.Seq
	for _, r := range a.blockRanges(row, i0, i1) {
		if n := r.j1 - r.j0; n > 0 { // logits [queries, keys] = Scale * q [queries, Dh] k^T [Dh, keys]
			w.gemm.Run(nil, false, true, i1-i0, n, dim, T(a.d.Scale), w.q[i0*dim:], dim, w.k[r.j0*dim:], dim, 0, a.prob[a.rowStart(row, head, i0)+r.j0:], ld)
		}
	}
	for i := i0; i < i1; i++ {
		if a.d.SoftCap > 0 {
			a.capRow(a.row(a.prob, row, head, i), a.sight(row, i), i)
		}
		a.softmaxRow(a.row(a.prob, row, head, i), a.sight(row, i), i, a.d.slope(head))
	}
}

// softmaxRow turns the logits that query i sees into probabilities, and clears the others.
func (a *AttentionPattern[T]) softmaxRow(probs []T, s attentionSight, i int, slope float64) {
	if a.raw {
		biasRow(probs, s, i, slope)
		return
	}
	clearUnseen(probs, s, i)
	sinks, near := probs[s.start:s.sinks], probs[s.first:i+1]
	largest := distancesMax(a.rows, near, slope, i-s.first)
	if len(sinks) == 0 {
		scaleRow(a.rows, near, T(1/softmaxExp(a.rows, near, largest)))
		return
	}
	largest = max(largest, distancesMax(a.rows, sinks, slope, i-s.start))
	sum := softmaxExp(a.rows, sinks, largest) + softmaxExp(a.rows, near, largest)
	scaleRow(a.rows, sinks, T(1/sum))
	scaleRow(a.rows, near, T(1/sum))
}

// gradientBlock computes dq of the queries i0:i1 and adds their part to dk.
func (a *AttentionPattern[T]) gradientBlock(w *patternWorker[T], row, head, i0, i1 int) {
	dim, seq, scale := a.d.HeadDim, a.d.Seq, T(a.d.Scale)
	for i := i0; i < i1; i++ {
		a.gradientRow(w.ds[(i-i0)*seq:][:i1], a.row(a.prob, row, head, i), a.row(a.dprob, row, head, i), a.sight(row, i), i)
	}
	if a.d.SoftCap > 0 {
		a.uncapBlock(w, i0, i1)
	}
	beta := T(0)
	for _, r := range a.blockRanges(row, i0, i1) {
		n := r.j1 - r.j0
		if n <= 0 {
			continue
		}
		// dq [queries, Dh] (+)= Scale * dS [queries, keys] k [keys, Dh]
		w.gemm.Run(nil, false, false, i1-i0, dim, n, scale, w.ds[r.j0:], seq, w.k[r.j0*dim:], dim, beta, w.dq[i0*dim:], dim)
		// dk [keys, Dh] += Scale * dS^T [keys, queries] q [queries, Dh]
		w.gemm.Run(nil, true, false, n, dim, i1-i0, scale, w.ds[r.j0:], seq, w.q[i0*dim:], dim, 1, w.dk[r.j0*dim:], dim)
		beta = 1
	}
}

// gradientRow computes the gradient of the logits of query i, 0 where it sees nothing.
func (a *AttentionPattern[T]) gradientRow(ds, prob, dprob []T, s attentionSight, i int) {
	if a.raw {
		copy(ds, dprob)
	}
	if clearUnseen(ds, s, i); a.raw {
		return
	}
	sum := rowDot(a.rows, prob[s.first:i+1], dprob[s.first:i+1])
	if s.start < s.sinks {
		sum += rowDot(a.rows, prob[s.start:s.sinks], dprob[s.start:s.sinks])
	}
	for _, seen := range [2]keyRange{{s.start, s.sinks}, {s.first, i + 1}} {
		for j := seen.j0; j < seen.j1; j++ {
			ds[j] = prob[j] * (dprob[j] - sum)
		}
	}
}

// writeGradients writes a pair's dq and, if the pair is its group's last, dk, both rotated back if
// there are rotary positions, and zeros for dv.
func (a *AttentionPattern[T]) writeGradients(w *patternWorker[T], row, head int, last bool) {
	queries, keys, values, ld := packed(&a.d, a.dqkv, row, head)
	dim := a.d.HeadDim
	for i := range a.d.Seq {
		a.rope.writeBack(queries[i*ld:], w.dq[i*dim:][:dim], i)
		if last {
			a.rope.writeBack(keys[i*ld:], w.dk[i*dim:][:dim], i)
			clear(values[i*ld:][:dim])
		}
	}
}

// rowStart returns the index of query i of a pair in [batch*seq, heads, seq].
func (a *AttentionPattern[T]) rowStart(row, head, i int) int {
	return ((row*a.d.Seq+i)*a.d.Heads + head) * a.d.Seq
}

// row returns the entries for the keys of query i of a pair in x [batch*seq, heads, seq].
func (a *AttentionPattern[T]) row(x []T, row, head, i int) []T {
	return x[a.rowStart(row, head, i):][:a.d.Seq]
}

// start returns the first key in the document of query i of a row.
func (a *AttentionPattern[T]) start(row, i int) int {
	return min(max(startOf(a.starts, row*a.d.Seq+i), 0), i)
}

// sight returns what query i of a row sees.
func (a *AttentionPattern[T]) sight(row, i int) attentionSight {
	return a.d.sight(a.start(row, i), i)
}

// blockRanges returns the keys that the queries i0:i1 of a row see; without a window, all keys up
// to the last query.
func (a *AttentionPattern[T]) blockRanges(row, i0, i1 int) [2]keyRange {
	if a.d.Window <= 0 {
		return [2]keyRange{1: {0, i1}}
	}
	return a.d.blockKeys(0, i0, i1, a.starts != nil, func(i int) int { return a.start(row, i) }).ranges()
}
